import { Artifact, Message, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import type { LoggedEvent, PushConfig, TaskCreated, TaskDelegated, TaskFacts, TaskReply } from './event.ts'
import { hasEnded } from './states.ts'

/** URI of the extension whose facts are in the metadata of tasks and status updates. */
export const MESH_EXTENSION = 'urn:svc:mesh:v1'

/** State of a task after some of its events. */
export interface TaskSnapshot {
  readonly id: string
  readonly context: string
  readonly created: TaskCreated
  /** Unix milliseconds of the store. */
  readonly createdAt: number
  readonly state: TaskState
  readonly statusMessage: Message | null
  /** When the state was reached, in Unix milliseconds of the store. */
  readonly statusAt: number
  readonly artifacts: readonly Artifact[]
  readonly history: readonly Message[]
  readonly facts: TaskFacts
  readonly pushes: readonly PushConfig[]
  /** Replies of the client that no status followed. */
  readonly pendingReplies: readonly TaskReply[]
  /** How often the task required input. */
  readonly inputs: number
  readonly delegated: TaskDelegated | null
  /** How often an orchestrator accepted the task. */
  readonly delegations: number
  /** Number of the last event that counts. */
  readonly last: number
  /** Events that count, by number. */
  readonly events: readonly LoggedEvent[]
}

type Building = { -readonly [K in keyof TaskSnapshot]: TaskSnapshot[K] }

/**
 * Returns the state of a task after its events up to number `until`. After the end of the task, only changes of its
 * webhooks count. Null without the event that created it: the task does not exist, or was removed.
 */
export function snapshotOf(id: string, log: readonly LoggedEvent[], until = Infinity): TaskSnapshot | null {
  const [first] = log
  if (first === undefined || first.event.type !== 'created') return null
  const created = first.event
  const task: Building = {
    id,
    context: created.context,
    created,
    createdAt: first.at,
    state: TaskState.TASK_STATE_SUBMITTED,
    statusMessage: null,
    statusAt: first.at,
    artifacts: [],
    history: [created.message],
    facts: {},
    pushes: [],
    pendingReplies: [],
    inputs: 0,
    delegated: null,
    delegations: 0,
    last: first.number,
    events: [first]
  }
  for (const logged of log.slice(1)) {
    if (logged.number > until) break
    const { type } = logged.event
    if (!hasEnded(task.state) || type === 'push' || type === 'push_removed') apply(task, logged)
  }
  return task
}

function apply(task: Building, logged: LoggedEvent): void {
  const { event, at, number } = logged
  task.last = number
  task.events = [...task.events, logged]
  switch (event.type) {
    case 'status':
      if (task.statusMessage !== null) task.history = [...task.history, task.statusMessage]
      task.state = event.state
      task.statusMessage = event.message
      task.statusAt = at
      task.facts = { ...task.facts, ...event.facts }
      task.pendingReplies = []
      if (event.state === TaskState.TASK_STATE_INPUT_REQUIRED) task.inputs += 1
      return
    case 'reply':
      if (task.statusMessage !== null) task.history = [...task.history, task.statusMessage]
      task.history = [...task.history, event.message]
      task.statusMessage = null
      task.pendingReplies = [...task.pendingReplies, event]
      task.state = TaskState.TASK_STATE_WORKING
      task.statusAt = at
      return
    case 'artifact': {
      const others = task.artifacts.filter(({ artifactId }) => artifactId !== event.artifact.artifactId)
      task.artifacts = [...others, event.artifact]
      return
    }
    case 'delegated':
      task.delegated = event
      task.delegations += 1
      task.facts = { ...task.facts, task_id: event.task }
      return
    case 'push':
      task.pushes = [...task.pushes.filter(({ id }) => id !== event.config.id), event.config]
      return
    case 'push_removed':
      task.pushes = task.pushes.filter(({ id }) => id !== event.id)
      return
    case 'created':
      return
  }
}

export interface TaskView {
  /** Maximum number of messages, the newest; default all. */
  readonly historyLength?: number | undefined
  /** Default true. */
  readonly artifacts?: boolean
}

/** Returns a snapshot as a task of the protocol. */
export function taskOf(snapshot: TaskSnapshot, { historyLength, artifacts = true }: TaskView = {}): Task {
  const { id, context, state, statusMessage, statusAt, history, facts } = snapshot
  return {
    id,
    contextId: context,
    status: { state, message: statusMessage ?? undefined, timestamp: new Date(statusAt).toISOString() },
    artifacts: artifacts ? [...snapshot.artifacts] : [],
    history: historyLength === undefined ? [...history] : historyLength === 0 ? [] : history.slice(-historyLength),
    metadata: metadataOf(facts)
  }
}

function metadataOf(facts: TaskFacts): Record<string, unknown> | undefined {
  return Object.keys(facts).length === 0 ? undefined : { [MESH_EXTENSION]: facts }
}

/** Returns what a stream sends for an event; null for an event that clients do not see. */
export function streamed(snapshot: TaskSnapshot, { event, at, number }: LoggedEvent): StreamResponse | null {
  const { id: taskId, context: contextId } = snapshot
  if (event.type === 'artifact') {
    const value = { taskId, contextId, artifact: event.artifact, append: false, lastChunk: true, metadata: undefined }
    return { payload: { $case: 'artifactUpdate', value } }
  }
  if (event.type !== 'status' && event.type !== 'reply') return null
  const isReply = event.type === 'reply'
  const status = {
    state: isReply ? TaskState.TASK_STATE_WORKING : event.state,
    message: isReply ? undefined : (event.message ?? undefined),
    timestamp: new Date(at).toISOString()
  }
  const { facts } = snapshotOf(taskId, snapshot.events, number) as TaskSnapshot
  return { payload: { $case: 'statusUpdate', value: { taskId, contextId, status, metadata: metadataOf(facts) } } }
}

/** Returns the size of messages and results as JSON, in bytes. */
export function sizeOf({ history, artifacts = [] }: Pick<Task, 'history'> & Partial<Pick<Task, 'artifacts'>>): number {
  const texts = [...history.map(each => Message.toJSON(each)), ...artifacts.map(each => Artifact.toJSON(each))]
  return Buffer.byteLength(JSON.stringify(texts))
}
