import {
  type Orchestrator,
  orchestrationErrors,
  type ProcessTasks,
  type RepositoryTask,
  type TaskStatusKind,
  taskLabel,
  taskStatusToWire
} from '@svc/contracts'
import { defined, defineOperation, type Handler, type OutputOf, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, done, numberOf, priority, priorityOf, taskReference } from '../fields.ts'
import { method, tool } from '../tool.ts'
import { change, foundAnywhere, holderFields, holderOf, incomplete, own } from './holder.ts'

const errors = orchestrationErrors.specs
const STATUSES: readonly TaskStatusKind[] = [
  'Queued',
  'InProgress',
  'Completed',
  'Failed',
  'Blocked',
  'BlockedOnApproval',
  'Cancelled',
  'Doubted'
]

const taskStatus = defineOperation({
  id: 'orchestrator.taskStatus',
  summary: 'Show the state of a task',
  input: t.object({ task_id: taskReference }),
  output: t.object({
    status: t.enum(STATUSES),
    detail: t.unknown({ description: 'Status, with its reason or the blocking task.' })
  }),
  errors,
  effect: 'read',
  expose: {
    mcp: tool('task_status', {
      aliases: ['task_status'],
      readRole: true,
      answer: 'status',
      toolsets: ['default', 'tasks'],
      use: 'One word, cheap to repeat. Everything about a task: svc_task_details; why it waits: svc_explain_task.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/tasks/:task_id/status', answer: 'status' },
    rpc: method('task_status'),
    cli: { command: 'orch queue status', args: ['task_id'], view: { answer: 'status' } }
  }
})

function taskStatusHandler({ pilot, tasks }: Dependencies): Handler<typeof taskStatus> {
  return async ({ task_id }, { signal, surface }) => {
    const reported = surface === 'rpc' ? undefined : await askStatus(pilot, numberOf(task_id), signal)
    if (reported !== undefined) return reported
    const { status } = await foundAnywhere({ tasks }, task_id, signal)
    return { status: status.kind, detail: taskStatusToWire(status) }
  }
}

/** Requests a task's status from the daemon; undefined if there is no valid response. */
async function askStatus(
  pilot: Dependencies['pilot'],
  task: number,
  signal: AbortSignal
): Promise<OutputOf<typeof taskStatus> | undefined> {
  try {
    const response = await pilot.ask('task_status', 'orch.task_status', { task_id: task }, signal)
    const { status, detail } = (response ?? {}) as { readonly status?: unknown; readonly detail?: unknown }
    const kind = STATUSES.find(each => each === status)
    return kind === undefined ? undefined : { status: kind, detail: detail ?? kind }
  } catch {
    return undefined
  }
}

const taskRow = t.object(
  {
    id: t.integer(),
    status: t.union([t.enum(STATUSES), t.record(t.unknown())]),
    description: t.string(),
    agent_id: t.integer(),
    priority: t.string(),
    ...holderFields
  },
  { additionalProperties: true }
)

const showTask = defineOperation({
  id: 'orchestrator.showTask',
  summary: 'Show all details of a task',
  input: t.object({ task_id: taskReference }),
  output: taskRow,
  errors,
  effect: 'read',
  expose: {
    mcp: tool('task_details', {
      toolsets: ['tasks'],
      use: 'Description, files, attempts and evidence. Only the state: svc_task_status.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/tasks/:task_id' },
    rpc: true,
    cli: {
      command: 'orch show',
      args: ['task_id'],
      view: {
        fields: [
          'id',
          'status',
          'description',
          'priority',
          'agent_id',
          'holder',
          'files',
          'depends_on',
          'session_id',
          'category',
          'role',
          'complexity',
          'approval_tier',
          'test_decision',
          'plan.session_id',
          'created_at_ms',
          'started_at_ms',
          'ended_at_ms'
        ]
      }
    }
  }
})

function showTaskHandler({ tasks }: Dependencies): Handler<typeof showTask> {
  return async ({ task_id }, { signal }) => {
    const { process, ...task } = await foundAnywhere({ tasks }, task_id, signal)
    return { ...task, status: taskStatusToWire(task.status), ...holderOf(process) }
  }
}

const listTasks = defineOperation({
  id: 'orchestrator.listTasks',
  summary: 'List tasks and the size of every queue',
  input: t.object({
    agent_id: t.optional(agentId),
    status: t.optional(t.enum(STATUSES, { description: 'Only tasks in this state.' })),
    session_id: t.optional(t.string({ maxLength: 2_048, description: 'Only tasks of this session.' })),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of tasks.' }),
    after: t.optional(
      t.integer({ minimum: 0, description: 'Lists only tasks with higher ids: next of the last page.' })
    ),
    own
  }),
  output: t.object({
    total_queued: t.integer(),
    total_in_progress: t.integer(),
    total_completed: t.integer(),
    total_doubted: t.integer(),
    incomplete: t.optional(t.string({ description: 'Tasks that could not be read, and why.' })),
    next: t.optional(t.integer({ description: 'Pass it as after for the next page; absent on the last one.' })),
    tasks: t.array(
      t.object({
        task: t.string(),
        task_id: t.integer(),
        status: t.enum(STATUSES),
        priority: t.string(),
        agent_id: t.integer(),
        created_at_ms: t.integer(),
        ...holderFields,
        description: t.string({ description: 'First line of the description, at most 120 characters.' })
      })
    )
  }),
  effect: 'read',
  expose: {
    mcp: tool('queue_status', {
      toolsets: ['default', 'tasks'],
      use: 'All open tasks by agent and state. One task: svc_task_status.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/tasks' },
    rpc: true,
    cli: {
      command: 'orch tasks',
      aliases: { status: 's' },
      view: {
        rows: 'tasks',
        columns: ['task', 'status', 'priority', 'agent_id', 'holder', 'description'],
        note: 'incomplete'
      }
    }
  }
})

function listTasksHandler({ tasks, local }: Dependencies): Handler<typeof listTasks> {
  return async ({ agent_id, status, session_id, limit, after, own }, { signal }) => {
    const agent = agent_id === undefined ? undefined : numberOf(agent_id)
    const filter = { limit, own, ...defined({ agent, status, session: session_id, after }) }
    const { items, failed } = await tasks.current.list(filter, signal)
    return {
      ...(own ? totalsOfProcess(local) : totalsOf((await tasks.current.processes(signal)).items)),
      ...incomplete(failed),
      // A full page may be the last one; the next one is empty then.
      ...defined({ next: items.length < limit ? undefined : items.at(-1)?.id }),
      tasks: items.map(rowOf)
    }
  }
}

function totalsOfProcess(orchestrator: Orchestrator) {
  const { total_queued, total_in_progress, total_completed, total_doubted } = orchestrator.status()
  return { total_queued, total_in_progress, total_completed, total_doubted }
}

function totalsOf(processes: readonly ProcessTasks[]) {
  const sum = (count: (process: ProcessTasks) => number): number =>
    processes.reduce((total, process) => total + count(process), 0)
  return {
    total_queued: sum(({ open }) => open.Queued),
    total_in_progress: sum(({ open }) => open.InProgress),
    total_completed: sum(({ ended }) => ended.completed),
    total_doubted: sum(({ open }) => open.Doubted)
  }
}

const LINE = 120

function rowOf(task: RepositoryTask) {
  const line = task.description.split('\n', 1)[0] ?? ''
  return {
    task: taskLabel(task.id),
    task_id: task.id,
    status: task.status.kind,
    priority: task.priority,
    agent_id: task.agent_id,
    created_at_ms: task.created_at_ms,
    ...holderOf(task.process),
    description: line.length > LINE ? `${line.slice(0, LINE - 1)}…` : line
  }
}

const reorderTask = defineOperation({
  id: 'orchestrator.reorderTask',
  summary: 'Change the priority of a queued task',
  input: t.object({ task_id: taskReference, priority }),
  output: done,
  errors,
  expose: {
    mcp: tool('reorder_task', {
      answer: 'message',
      toolsets: ['tasks'],
      use: 'Moves a waiting task in its queue; running tasks are not affected.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/tasks/:task_id/priority', answer: 'message' },
    rpc: method('reorder_task'),
    cli: { command: 'orch queue reorder', args: ['task_id', 'priority'], view: { answer: 'message' } }
  }
})

function reorderTaskHandler(dependencies: Dependencies): Handler<typeof reorderTask> {
  return ({ task_id, priority }, call) =>
    change(dependencies, call, { task: task_id, verb: 'reorder', args: { priority } }, async (orchestrator, id) => {
      await orchestrator.reorder(id, priorityOf(priority))
      return { ok: true, message: 'task reordered' }
    })
}

const testDecision = defineOperation({
  id: 'orchestrator.testDecision',
  summary: 'Decide whether a task should be tested, with the reason',
  input: t.object({ task_id: taskReference }),
  output: t.object({
    decision: t.enum(['Required', 'Deferred', 'Skip', 'Optional', 'Unknown']),
    rationale: t.string()
  }),
  errors,
  effect: 'read',
  expose: {
    mcp: tool('test_decision', {
      readRole: true,
      toolsets: ['tasks'],
      use: 'Ask before you write tests for a task. It runs nothing.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/tasks/:task_id/test-decision' },
    rpc: true,
    cli: {
      command: 'orch queue test-decision',
      args: ['task_id'],
      view: { fields: ['decision', 'rationale'] }
    }
  }
})

function testDecisionHandler({ tasks }: Dependencies): Handler<typeof testDecision> {
  return async ({ task_id }, { signal }) => {
    const task = await foundAnywhere({ tasks }, task_id, signal)
    const explanation = await tasks.current.explain(task, signal)
    return explanation?.test_decision ?? { decision: 'Unknown', rationale: 'the task is not known' }
  }
}

export const views = [
  bound(taskStatus, taskStatusHandler),
  bound(showTask, showTaskHandler),
  bound(listTasks, listTasksHandler),
  bound(reorderTask, reorderTaskHandler),
  bound(testDecision, testDecisionHandler)
]
