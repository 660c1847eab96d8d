import { type Delta, deltaOperation, type Handler } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentRow } from './agent-row.ts'
import { TOPICS } from './state-feeds.ts'
import { taskRow } from './task-row.ts'

export const tasksFeed = deltaOperation({
  id: 'orchestrator.tasks.feed',
  summary: 'List changes of tasks since a cursor',
  row: taskRow,
  watch: { on: [TOPICS.tasks] },
  expose: { rpc: true }
})

function tasksFeedHandler({ feeds }: Dependencies): Handler<typeof tasksFeed> {
  return async ({ since, limit }, { signal }) => {
    await feeds.refreshForeign(signal)
    return copied(feeds.readTasks(since, limit))
  }
}

export const agentsFeed = deltaOperation({
  id: 'orchestrator.agents.feed',
  summary: 'List changes of agents since a cursor',
  row: agentRow,
  watch: { on: [TOPICS.agents], minMs: 500 },
  expose: { rpc: true }
})

function agentsFeedHandler({ feeds }: Dependencies): Handler<typeof agentsFeed> {
  return async ({ since, limit }, { signal }) => {
    await feeds.refreshForeign(signal)
    return copied(feeds.readAgents(since, limit))
  }
}

function copied<Row>({ upsert, remove, ...delta }: Delta<Row>) {
  return { ...delta, upsert: [...upsert], remove: [...remove] }
}

export const feedOperations = [bound(tasksFeed, tasksFeedHandler), bound(agentsFeed, agentsFeedHandler)]
