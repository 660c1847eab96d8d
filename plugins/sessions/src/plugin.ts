import {
  contextStore,
  currentQgatePolicy,
  databaseStore,
  kernelAdmin,
  kernelPort,
  orchestrator,
  searchSources,
  sessionContext,
  sessionMessage,
  transcripts
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { AttachedDatabase, currentProvider } from './attached-database.ts'
import { contributeConsole } from './console.ts'
import { SessionEnvelopes } from './context/session-envelopes.ts'
import { budgetHandler, contextBudget, handoffContext, handoffHandler } from './operations/agents.ts'
import { messagesHandler, searchHandler, sessionMessages, sessionSearch } from './operations/console.ts'
import { contextGet, contextList, contextSet, getHandler, listHandler, setHandler } from './operations/context.ts'
import {
  chatHistory,
  createHandler,
  historyHandler,
  infoHandler,
  listSessionsHandler,
  resetHandler,
  sessionCreate,
  sessionInfo,
  sessionList,
  sessionReset
} from './operations/sessions.ts'
import { SessionsSource } from './search-source.ts'
import { Sessions } from './sessions/sessions.ts'
import { settings } from './settings.ts'
import { SharedContext } from './store/shared-context.ts'
import { sweepSessions } from './sweep.ts'
import { CONTEXT_TOPIC, SESSIONS_TOPIC } from './topics.ts'
import { SessionTranscripts } from './transcripts/session-transcripts.ts'

const LIFECYCLE_OFF = { shadow: false, enforce: false }

export default definePlugin({
  name: 'sessions',
  summary: 'Sessions, their context and their transcripts',
  config: settings,
  requires: { kernel: kernelPort },
  optional: { admin: kernelAdmin, store: ref(databaseStore), running: ref(orchestrator) },
  provides: [contextStore, sessionContext, transcripts],
  hooks: [sessionMessage],
  contributes: [searchSources],
  operations: [
    contextGet,
    contextSet,
    contextList,
    contextBudget,
    handoffContext,
    sessionCreate,
    sessionInfo,
    sessionList,
    sessionReset,
    chatHistory,
    sessionMessages,
    sessionSearch
  ],
  permissions: { fsRead: ['*'], fsWrite: ['*'] },
  activate(ctx, { kernel, admin, store, running }) {
    const now = (): number => Date.now()
    const { repositoryId } = kernel
    const database = new AttachedDatabase(store, admin, ctx.log)
    const orchestrating = () => currentProvider(running)
    const shared = new SharedContext(database, repositoryId, now)
    const context = new SessionEnvelopes({
      store: shared,
      repositoryId,
      lifecycle: () => orchestrating()?.policy.context_lifecycle ?? LIFECYCLE_OFF,
      minPersistConfidence: () => currentQgatePolicy(running).min_persist_confidence,
      truncated: (session_id, chars_dropped) =>
        orchestrating()?.emit({ type: 'context_truncated', session_id, section: 'session_context', chars_dropped }),
      log: ctx.log,
      now
    })
    const sessions = new Sessions({
      repositoryId,
      folder: `${kernel.stateRoot}/sessions`,
      otherFolders: [`${ctx.projectRoot}/.svc/sessions`],
      now,
      store: () => database.store(),
      settings: () => ctx.config,
      changed: () => {
        ctx.changed(SESSIONS_TOPIC)
        source.changed()
      },
      warn: (message, fields) => ctx.log.warn(message, fields)
    })
    const source = new SessionsSource(sessions)
    ctx.contribute(searchSources, source)
    const sessionTranscripts = new SessionTranscripts({
      recorded: (session, entry) => {
        if (ctx.isTapped(sessionMessage)) ctx.trigger(sessionMessage, { session, entry }).catch(() => {})
      },
      sessions,
      store: () => database.store(),
      repositoryId,
      now,
      wasReset: (session_id, agent, turns_cleared) =>
        orchestrating()?.emit({ type: 'session_reset', agent_id: agent ?? 0, session_id, turns_cleared })
    })
    ctx.provide(contextStore, shared)
    ctx.provide(sessionContext, context)
    ctx.provide(transcripts, sessionTranscripts)
    ctx.implement(contextGet, getHandler(shared, sessionTranscripts))
    ctx.implement(
      contextSet,
      setHandler(shared, () => ctx.changed(CONTEXT_TOPIC))
    )
    ctx.implement(contextList, listHandler(shared, orchestrating))
    const agents = { orchestrator: orchestrating, sessions, context, now }
    ctx.implement(contextBudget, budgetHandler(agents))
    ctx.implement(handoffContext, handoffHandler(agents))
    ctx.implement(sessionCreate, createHandler(sessions, orchestrating))
    ctx.implement(sessionInfo, infoHandler(sessions, orchestrating))
    ctx.implement(sessionList, listSessionsHandler(sessions, orchestrating))
    ctx.implement(sessionReset, resetHandler(sessions, sessionTranscripts))
    ctx.implement(chatHistory, historyHandler(sessionTranscripts))
    ctx.implement(sessionMessages, messagesHandler(sessions, sessionTranscripts))
    ctx.implement(sessionSearch, searchHandler(sessions))
    contributeConsole(ctx)
    if (admin?.serves === true) ctx.background('sweep of sessions', signal => sweepSessions(sessions, ctx.log, signal))
  }
})
