import {
  agentFleet,
  contextStore,
  kernelAdmin,
  kernelPort,
  orchestrator as orchestratorService,
  sessionContext
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import { events } from './agents/events.ts'
import { handoffs } from './agents/handoff.ts'
import { lifecycle } from './agents/lifecycle.ts'
import { files } from './files/files.ts'
import { attentionOperations } from './ledgers/attention.ts'
import { budgets } from './ledgers/budgets.ts'
import { executionTimes } from './ledgers/execution-times.ts'
import { trustOperations } from './ledgers/trust.ts'
import { DaemonPilot } from './pilot/daemon-pilot.ts'
import { agentMethods } from './rpc/agents.ts'
import { statusMethods } from './rpc/status.ts'
import { taskMethods } from './rpc/tasks.ts'
import { startOperations } from './status/orchestrator-start.ts'
import { statusOperations } from './status/orchestrator-status.ts'
import { outboxOperations } from './status/outbox.ts'
import { ends } from './tasks/end-task.ts'
import { explanations } from './tasks/explain-task.ts'
import { submission } from './tasks/submit-task.ts'
import { views } from './tasks/view-task.ts'

const SOCKET = 'plugins.daemon.socket'

const all = [
  ...[submission, ends, views, explanations],
  ...[lifecycle, handoffs, events, files],
  ...[budgets, attentionOperations, trustOperations, executionTimes],
  ...[statusOperations, startOperations, outboxOperations],
  ...[taskMethods, agentMethods, statusMethods]
].flat()

export default definePlugin({
  name: 'orchestrator-tools',
  summary: 'The orchestrator as tools, methods of the daemon and commands',
  requires: { orchestrator: orchestratorService, port: kernelPort },
  optional: { sessions: sessionContext, context: contextStore, admin: kernelAdmin, fleet: ref(agentFleet) },
  operations: all.map(({ operation }) => operation),
  activate(ctx, { orchestrator, ...others }) {
    const socket = others.admin?.settings(SOCKET).find(({ key }) => key === SOCKET)?.value
    const pilot = new DaemonPilot(typeof socket === 'string' ? socket : '', orchestrator, ctx.log)
    for (const each of all) each.implement(ctx, { ...others, orchestrator, pilot, ctx })
  }
})
