import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { isOf } from '../agents/events.ts'
import { agentOf } from '../agents/lifecycle.ts'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentRow, agentRowOf } from '../feeds/agent-row.ts'
import { TOPICS } from '../feeds/state-feeds.ts'
import { agentId, numberOf } from '../fields.ts'
import { eventRow, shownEvent } from './event-row.ts'

const { ORC_AGENT_NOT_FOUND } = orchestrationErrors.specs
const errors = { ORC_AGENT_NOT_FOUND }
const input = t.object({ agent_id: agentId })
/** Maximum events of an agent that are listed. */
const MAX_EVENTS = 200

const agentRecord = defineOperation({
  id: 'orchestrator.agents.record',
  summary: 'Show an agent with its load, trust and spending',
  input,
  output: agentRow,
  errors,
  effect: 'read',
  watch: { on: [TOPICS.agents], minMs: 1_000 },
  expose: { rpc: true }
})

function agentRecordHandler({ local, tasks }: Dependencies): Handler<typeof agentRecord> {
  return async ({ agent_id }, { signal }) => {
    const { items } = await tasks.current.agents({}, signal)
    const found = items.find(({ id }) => id === numberOf(agent_id))
    if (found !== undefined && !found.process.own) return agentRowOf(found, null)
    const agent = agentOf(local, agent_id)
    return agentRowOf({ ...agent, process: tasks.current.process }, local.budgets.of(agent.id))
  }
}

const agentEventList = defineOperation({
  id: 'orchestrator.agents.events',
  summary: 'List the last events of an agent, oldest first',
  input,
  output: t.object({
    events: t.array(eventRow, { description: 'The last 200 among the last 1,024 events of all agents.' })
  }),
  errors,
  effect: 'read',
  watch: { on: [TOPICS.events], minMs: 1_000 },
  expose: { rpc: true }
})

function agentEventListHandler({ local }: Dependencies): Handler<typeof agentEventList> {
  return ({ agent_id }) => {
    // An agent of another process has its events there.
    const id = numberOf(agent_id)
    const own = local.recentEvents().filter(event => isOf(event, id))
    return { events: own.slice(-MAX_EVENTS).map(shownEvent) }
  }
}

export const agentOperations = [bound(agentRecord, agentRecordHandler), bound(agentEventList, agentEventListHandler)]
