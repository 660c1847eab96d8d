import {
  a2aBus,
  agentFleet,
  contextStore,
  DelegatingOrchestrator,
  daemonPeer,
  databaseStore,
  generationFlipped,
  kernelAdmin,
  kernelPort,
  orchestrator as orchestratorService,
  repositoryTasks,
  type StatusSection,
  sessionContext,
  statusSections
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { agentIdLists } from './agents/agent-ids.ts'
import { continuations } from './agents/continue-agent.ts'
import { events } from './agents/events.ts'
import { handoffs } from './agents/handoff.ts'
import { lifecycle } from './agents/lifecycle.ts'
import { lineages } from './agents/lineage.ts'
import { agentOperations } from './console/agent-operations.ts'
import { inboxOperations } from './console/inbox.ts'
import { contributeConsole } from './console/pages.ts'
import { taskOperations } from './console/task-operations.ts'
import { feedOperations } from './feeds/feeds.ts'
import { StateFeeds, TOPICS } from './feeds/state-feeds.ts'
import { files } from './files/files.ts'
import { attentionOperations } from './ledgers/attention.ts'
import { budgets } from './ledgers/budgets.ts'
import { executionTimes } from './ledgers/execution-times.ts'
import { trustOperations } from './ledgers/trust.ts'
import { broadcasts } from './messages/broadcast.ts'
import { questions } from './messages/questions.ts'
import { DaemonPilot } from './pilot/daemon-pilot.ts'
import { PilotedOrchestrator } from './pilot/piloted-orchestrator.ts'
import { startOperations } from './status/orchestrator-start.ts'
import { statusOperations } from './status/orchestrator-status.ts'
import { outboxOperations } from './status/outbox.ts'
import { ownSections } from './status/sections.ts'
import { journeys } from './status/workspace-journey.ts'
import { ends } from './tasks/end-task.ts'
import { explanations } from './tasks/explain-task.ts'
import { submission } from './tasks/submit-task.ts'
import { views } from './tasks/view-task.ts'
import { topCommand, topDescriptor } from './top/command.ts'

/** Interval in milliseconds in which a shown list follows the other processes. */
const FOREIGN_MS = 2_000

const SOCKET = 'plugins.daemon.socket'

const all = [
  ...[submission, ends, views, explanations],
  ...[lifecycle, agentIdLists, continuations, handoffs, lineages, events, files],
  ...[questions, broadcasts],
  ...[budgets, attentionOperations, trustOperations, executionTimes],
  ...[statusOperations, startOperations, outboxOperations, journeys],
  ...[feedOperations, taskOperations, agentOperations, inboxOperations]
].flat()

export default definePlugin({
  name: 'orchestrator-tools',
  summary: 'The orchestrator as tools, methods of the daemon and commands',
  // By reference: followers of events survive a reload of the orchestrator.
  requires: { orchestrator: ref(orchestratorService), repository: ref(repositoryTasks), port: kernelPort },
  optional: {
    sessions: sessionContext,
    context: contextStore,
    admin: kernelAdmin,
    fleet: ref(agentFleet),
    bus: ref(a2aBus),
    database: ref(databaseStore)
  },
  provides: [daemonPeer],
  operations: all.map(({ operation }) => operation),
  commands: [topDescriptor],
  points: [statusSections],
  activate(ctx, { orchestrator: reference, repository, ...others }) {
    const local = new DelegatingOrchestrator(() => reference.current)
    const socket = others.admin?.settings(SOCKET).find(({ key }) => key === SOCKET)?.value
    const pilot = new DaemonPilot(typeof socket === 'string' ? socket : '', ctx.projectRoot, local, ctx.log)
    const orchestrator = new PilotedOrchestrator(() => reference.current, pilot)
    for (const section of ownSections(local)) ctx.contribute(statusSections, section, `status ${section.key}`)
    let contributed: readonly StatusSection[] = []
    ctx.follow(statusSections, items => {
      contributed = items
    })
    const sections = () => contributed
    const feeds = new StateFeeds(
      () => reference.available,
      () => repository.available,
      topic => ctx.changed(topic)
    )
    ctx.onServe('follow the orchestrator', () => feeds.attach())
    ctx.on(generationFlipped, () => feeds.attach(), { label: 'follow the orchestrator' })
    ctx.effect('feeds', () => feeds.close())
    const { topics } = others.port
    const timer = setInterval(() => {
      if (!topics.watched(TOPICS.tasks) && !topics.watched(TOPICS.agents)) return
      feeds.refreshForeign(AbortSignal.timeout(FOREIGN_MS)).catch(() => {})
    }, FOREIGN_MS).unref()
    ctx.effect('tasks of other processes', () => clearInterval(timer))
    contributeConsole(ctx)
    for (const each of all)
      each.implement(ctx, { ...others, orchestrator, local, tasks: repository, pilot, feeds, sections })
    ctx.command(
      topDescriptor.command,
      topCommand({ projectRoot: ctx.projectRoot, orchestrator: local, tasks: repository })
    )
    ctx.provide(daemonPeer, {
      start: () => {
        pilot.probe().catch((error: unknown) => ctx.log.debug('the daemon was not checked', { error }))
      }
    })
    // A serving process may become the daemon itself, so it checks only at the first call.
    if (others.admin?.serves !== false) return
    ctx.on(generationFlipped, async () => {
      if (pilot.isWanted) await pilot.probe()
    })
  }
})
