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

/** Serves the rest of the primary-database API. */
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
  // They end when a replacement begins to wait for what is under way: of themselves they never would.
  ctx.background('change streams', async signal => {
    if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
    streams.close()
  })
}
