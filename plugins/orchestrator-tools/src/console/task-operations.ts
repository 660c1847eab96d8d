import { agentLabel, orchestrationErrors, type TaskExplanation } from '@svc/contracts'
import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { TOPICS } from '../feeds/state-feeds.ts'
import { firstLine, short, TASK_STATES, taskRowFields, taskRowOf } from '../feeds/task-row.ts'
import { taskReference } from '../fields.ts'
import { foundAnywhere } from '../tasks/holder.ts'
import { eventRow, shownEvent } from './event-row.ts'
import { timelineBar, timelineOf } from './task-timeline.ts'

const { ORC_TASK_NOT_FOUND } = orchestrationErrors.specs
const errors = { ORC_TASK_NOT_FOUND }
const input = t.object({ task_id: taskReference })
const watch = { on: [TOPICS.tasks], minMs: 1_000 }
/** Maximum events of a task that are listed. */
const MAX_EVENTS = 200
/** Maximum characters of texts, so that a record fits into one frame of the console's stream. */
const MAX_DESCRIPTION = 16_000
const MAX_MESSAGE = 4_000
const MAX_NOTE = 1_000
/** Maximum files and dependencies of a task that are listed. */
const MAX_LISTED = 200

const taskRecord = defineOperation({
  id: 'orchestrator.tasks.record',
  summary: 'Show a task with its position, routing and waiting time',
  input,
  output: t.object({
    ...taskRowFields,
    description: t.string({ description: 'The first 16,000 characters of the description.' }),
    position: t.optional(t.integer({ description: 'Position in the queue of its agent, from 1.' })),
    routing: t.string({ description: 'Why the agent was chosen.' }),
    category: t.string(),
    role: t.string(),
    complexity: t.integer({ description: '1 to 10.' }),
    approval_tier: t.optional(t.string()),
    test_decision: t.optional(t.string()),
    phase: t.optional(t.string({ description: 'Current phase of the work.' })),
    waited_ms: t.optional(t.integer({ description: 'Time from the submission to the last start.' })),
    worked_ms: t.optional(t.integer({ description: 'Time from the last start to the end.' })),
    trace_id: t.string(),
    audit_report: t.optional(t.string()),
    reason: t.optional(t.string({ description: 'Why the task was cancelled.' })),
    files: t.array(t.object({ path: t.string(), access: t.string() }), { description: 'The first 200.' }),
    depends_on: t.array(t.object({ id: t.integer(), state: t.string(), description: t.string() })),
    observations: t.array(t.object({ id: t.integer(), note: t.string() })),
    transcript: t.array(
      t.object({
        id: t.integer(),
        timestamp_ms: t.integer(),
        agent_id: t.integer(),
        agent_name: t.string(),
        message: t.string()
      })
    )
  }),
  errors,
  effect: 'read',
  watch,
  expose: { rpc: true }
})

function taskRecordHandler({ tasks, local, feeds }: Dependencies): Handler<typeof taskRecord> {
  return async ({ task_id }, { signal }) => {
    const task = await foundAnywhere({ tasks }, task_id, signal)
    const { id, started_at_ms: started, ended_at_ms: ended, status } = task
    const row = taskRowOf(task, feeds.nameOf(task.agent_id) ?? agentLabel(task.agent_id))
    const { routing, trace } = (await tasks.current.explain(task, signal)) ?? {}
    return defined({
      ...row,
      description: short(task.description, MAX_DESCRIPTION),
      error: status.kind === 'Failed' ? short(status.reason, MAX_MESSAGE) : undefined,
      reason: status.kind === 'Cancelled' ? short(endingOf(trace), MAX_MESSAGE) : undefined,
      position: (task.process.own ? feeds.position(id) : null) ?? undefined,
      routing: routing === undefined ? 'unknown' : routing.rule.replaceAll('_', ' '),
      category: task.category,
      role: task.role,
      complexity: task.complexity,
      approval_tier: task.approval_tier,
      test_decision: task.test_decision,
      phase: task.phase,
      waited_ms: started === undefined ? undefined : Math.max(0, started - task.created_at_ms),
      worked_ms: started === undefined || ended === undefined ? undefined : Math.max(0, ended - started),
      trace_id: task.trace_id,
      audit_report: task.audit_report === undefined ? undefined : short(task.audit_report, MAX_MESSAGE),
      files: task.files.slice(0, MAX_LISTED).map(file => ({ ...file })),
      depends_on: task.depends_on.slice(0, MAX_LISTED).map(on => {
        const other = task.process.own ? local.task(on) : null
        return {
          id: on,
          state: other?.status.kind ?? (task.process.own ? 'Completed' : 'unknown'),
          description: other === null ? (task.process.own ? 'ended long ago' : '') : firstLine(other.description)
        }
      }),
      observations: (task.observations ?? []).map((note, id) => ({ id, note: short(note, MAX_NOTE) })),
      transcript: (task.transcript ?? []).map((turn, id) => ({
        ...turn,
        id,
        message: short(turn.message, MAX_MESSAGE)
      }))
    })
  }
}

/** Returns why a cancelled task ended. Its steps are known if it is one of the last 200 of this process. */
function endingOf(trace: TaskExplanation['trace'] | undefined): string {
  const detail = trace?.findLast(({ stage }) => stage === 'outcome')?.detail
  if (detail === undefined) return 'its steps are no longer in memory'
  return detail === 'cancelled' ? 'a user or an agent cancelled it' : detail.replace(/^cancelled: /, '')
}

const taskTimeline = defineOperation({
  id: 'orchestrator.tasks.timeline',
  summary: 'Show when a task waited and was worked on',
  input,
  output: t.object({
    bars: t.array(timelineBar),
    stages: t.array(t.object({ id: t.integer(), timestamp_ms: t.integer(), stage: t.string(), detail: t.string() }), {
      description: 'Steps of the task, oldest first; none if the task is older than the last 200.'
    })
  }),
  errors,
  effect: 'read',
  watch,
  expose: { rpc: true }
})

function taskTimelineHandler({ tasks, local }: Dependencies): Handler<typeof taskTimeline> {
  return async ({ task_id }, { signal }) => {
    const task = await foundAnywhere({ tasks }, task_id, signal)
    const stages = task.process.own ? (local.explain(task.id)?.trace ?? []) : []
    return {
      bars: timelineOf(task, stages, task.process.own ? local.recentEvents() : []),
      stages: stages.map((stage, id) => ({ id, ...stage, detail: short(stage.detail, MAX_NOTE) }))
    }
  }
}

const taskEvents = defineOperation({
  id: 'orchestrator.tasks.events',
  summary: 'List the last events of a task, oldest first',
  input,
  output: t.object({
    events: t.array(eventRow, {
      description: 'The last 200 among the last 1,024 events of all tasks.'
    })
  }),
  errors,
  effect: 'read',
  watch: { on: [TOPICS.events], minMs: 1_000 },
  expose: { rpc: true }
})

function taskEventsHandler({ tasks, local }: Dependencies): Handler<typeof taskEvents> {
  return async ({ task_id }, { signal }) => {
    const { id, process } = await foundAnywhere({ tasks }, task_id, signal)
    if (!process.own) return { events: [] }
    const own = local.recentEvents().filter(({ kind }) => 'task_id' in kind && kind.task_id === id)
    return { events: own.slice(-MAX_EVENTS).map(shownEvent) }
  }
}

const queues = defineOperation({
  id: 'orchestrator.queues',
  summary: 'List the next tasks of each agent in the order in which they start',
  input: t.object({
    limit: t.integer({ default: 20, minimum: 1, maximum: 100, description: 'Maximum number of tasks of each agent.' })
  }),
  output: t.object({
    tasks: t.array(t.object({ ...taskRowFields, position: t.integer() }), {
      description: 'By agent, and by position in its queue; at most 500.'
    })
  }),
  effect: 'read',
  watch,
  expose: { rpc: true }
})

/** Maximum rows, so that they fit into one frame of the console's stream. */
const MAX_QUEUED = 500

function queuesHandler({ feeds }: Dependencies): Handler<typeof queues> {
  return ({ limit }) => {
    let agent = -1
    let position = 0
    const tasks = feeds.queues(limit).slice(0, MAX_QUEUED)
    return {
      tasks: tasks.map(task => {
        position = task.agent_id === agent ? position + 1 : 1
        agent = task.agent_id
        return { ...task, position }
      })
    }
  }
}

const stateCount = t.object({ state: t.enum(TASK_STATES), tasks: t.integer() })

const summary = defineOperation({
  id: 'orchestrator.summary',
  summary: 'Show the number of tasks by state, and what waits for a user',
  input: t.object({}),
  output: t.object({
    running: t.boolean({ description: 'False during an emergency stop.' }),
    tasks: t.integer({ description: 'Known tasks; at most 1,000 ended ones are kept.' }),
    approvals: t.integer({ description: 'Tasks that wait for an approval.' }),
    doubts: t.integer({ description: 'Tasks whose result is doubted.' }),
    failed: t.integer(),
    agents: t.integer(),
    working: t.integer({ description: 'Agents that work on a task.' }),
    durable: t.string({ description: 'Where tasks are stored.' }),
    states: t.array(stateCount)
  }),
  effect: 'read',
  watch: { on: [TOPICS.tasks, TOPICS.agents, TOPICS.status], minMs: 1_000 },
  expose: { rpc: true }
})

function summaryHandler({ local, feeds }: Dependencies): Handler<typeof summary> {
  return async (_, { signal }) => {
    await feeds.refreshForeign(signal)
    const counts = feeds.counts()
    const count = (state: (typeof TASK_STATES)[number]): number => counts.get(state) ?? 0
    const status = local.status()
    const { durability } = status
    return {
      running: !status.stopped,
      tasks: TASK_STATES.reduce((sum, state) => sum + count(state), 0),
      approvals: count('BlockedOnApproval'),
      doubts: count('Doubted'),
      failed: count('Failed'),
      agents: status.agent_count + feeds.foreignAgents.length,
      working: [...status.agents, ...feeds.foreignAgents].filter(({ current_task }) => current_task !== null).length,
      durable: durability.kind === 'database' ? `in ${durability.location}` : `in memory only: ${durability.because}`,
      states: TASK_STATES.map(state => ({ state, tasks: count(state) }))
    }
  }
}

export const taskOperations = [
  bound(taskRecord, taskRecordHandler),
  bound(taskTimeline, taskTimelineHandler),
  bound(taskEvents, taskEventsHandler),
  bound(queues, queuesHandler),
  bound(summary, summaryHandler)
]
