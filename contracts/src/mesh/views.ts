import { type Infer, t } from '@svc/plugin-sdk'
import { meshNodeId } from './node-record.ts'

/** Age in milliseconds at which a published view is no longer listed. */
export const VIEW_EXPIRY_MS = 30_000
/** Maximum number of tasks in one view. */
export const MAX_VIEW_TASKS = 500
/** Maximum characters of a task's description in a view. */
export const MAX_VIEW_TEXT = 120

const count = t.integer({ minimum: 0 })
const word = (description: string) => t.string({ maxLength: 256, description })

/** An open task in a view. Texts are shortened. */
export const viewTask = t.object(
  {
    task_id: t.integer({ minimum: 0, description: 'Id of the task at its process.' }),
    agent_id: t.integer({ minimum: 0, description: 'Agent that has the task.' }),
    description: t.string({ maxLength: MAX_VIEW_TEXT, description: 'Start of the description.' }),
    status: t.enum(['Queued', 'InProgress', 'Blocked', 'BlockedOnApproval', 'Doubted']),
    blocked_on: t.optional(t.integer({ minimum: 0, description: 'Task that a blocked one waits for.' })),
    reason: t.optional(t.string({ maxLength: MAX_VIEW_TEXT, description: 'Why the task is doubted.' })),
    priority: t.enum(['Background', 'Normal', 'Urgent']),
    category: word('Category of the task.'),
    role: word('Role of the task.'),
    complexity: t.integer({ minimum: 1, maximum: 10 }),
    session_id: t.optional(t.string({ maxLength: 2_048, description: 'Session of the task.' })),
    trace_id: word('Trace of the task.'),
    placement_reason: word('Why the task is where it is.'),
    created_at_ms: t.number({ minimum: 0, description: 'Unix milliseconds.' }),
    started_at_ms: t.optional(t.number({ minimum: 0, description: 'Unix milliseconds.' }))
  },
  { additionalProperties: true, description: 'An open task.' }
)

/** Body of `POST x/views`: the open tasks of one process, instead of those that it published before. */
export const viewBody = t.object(
  {
    node_id: meshNodeId,
    repository_id: t.string({ minLength: 1, maxLength: 2_048, description: 'Repository of the tasks.' }),
    store_id: t.string({ minLength: 1, maxLength: 256, description: 'Names the database of the process.' }),
    mailbox: t.string({ pattern: '^[0-9]{1,20}$', description: 'Agent id to which verbs are delivered.' }),
    host: word('Name of the host.'),
    pid: t.integer({ minimum: 0, description: 'Id of the process.' }),
    agents: count,
    open: t.object({ Queued: count, InProgress: count, Blocked: count, BlockedOnApproval: count, Doubted: count }),
    ended: t.object({ completed: count, failed: count, cancelled: count }),
    tasks: t.array(viewTask, { maxItems: MAX_VIEW_TASKS, description: 'Open tasks, those with the lowest ids.' })
  },
  { additionalProperties: false, description: 'The open tasks of a process.' }
)

export type ViewTask = Infer<typeof viewTask>
export type ViewBody = Infer<typeof viewBody>

/** A published view, as `GET x/views?repository_id=` answers it. */
export interface PublishedView extends ViewBody {
  /** Grows with each change of the view. */
  readonly version: number
}

export interface ViewList {
  readonly views: readonly PublishedView[]
}

/** Message type of a verb on a task of another host, and of its result. */
export const TASK_VERB = 'task_verb'
export const TASK_VERB_RESULT = 'task_verb_result'
