import { type DatabaseStore, httpHandlers } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { ChangeStreams } from './change-stream.ts'
import { Codex } from './codex.ts'
import {
  codexConversationEdge,
  codexConversationVersion,
  codexMutate,
  codexQuery,
  codexResearchSession,
  codexTopicEvolution,
  searchStatus
} from './operations.ts'

/** Registers the operations and the change stream of the primary-database API. */
export function contributeCodex(ctx: PluginContext, store: DatabaseStore): void {
  const codex: Codex = new Codex(store, () => streams.wake())
  const streams = new ChangeStreams(codex)
  ctx.implement(codexQuery, input => codex.query(input))
  ctx.implement(codexMutate, input => codex.mutate(input))
  ctx.implement(searchStatus, () => codex.searchStatus())
  ctx.implement(codexResearchSession, input => codex.researchSession(input))
  ctx.implement(codexConversationVersion, input => codex.conversationVersion(input))
  ctx.implement(codexConversationEdge, input => codex.conversationEdge(input))
  ctx.implement(codexTopicEvolution, input => codex.topicEvolution(input))
  ctx.contribute(httpHandlers, { routes: [streams.route] })
  // A drain waits for open requests; streams must be closed explicitly.
  ctx.onDrain('change streams', () => streams.close())
}
