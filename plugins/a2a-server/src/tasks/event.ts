import { Artifact, Message, type TaskState, taskStateFromJSON, taskStateToJSON } from '@a2a-js/sdk'
import type { Principal } from '@svc/plugin-sdk'
import { a2aServerErrors } from '../errors.ts'

/** The message, caller and hints of a new task. */
export interface TaskCreated {
  readonly type: 'created'
  readonly owner: string
  /** Caller on whose behalf the task runs. */
  readonly principal: Principal
  readonly context: string
  readonly message: Message
  /** Text of the message, as the worker receives it. */
  readonly text: string
  readonly hints: TaskHints
}

/** Hints in the metadata of a message, under the URI of the extension. */
export interface TaskHints {
  readonly campaign_id?: string
  readonly priority?: 'Background' | 'Normal' | 'Urgent'
}

/** The client's reply to a task that requires input. */
export interface TaskReply {
  readonly type: 'reply'
  readonly message: Message
  readonly text: string
}

export interface TaskStatusChange {
  readonly type: 'status'
  readonly state: TaskState
  readonly message: Message | null
  /** Facts for `metadata` under the URI of the extension; they replace older ones of the same name. */
  readonly facts: TaskFacts
}

export type TaskFacts = Readonly<Record<string, string | number>>

export interface TaskResult {
  readonly type: 'artifact'
  readonly artifact: Artifact
}

/** The orchestrator accepted the task. */
export interface TaskDelegated {
  readonly type: 'delegated'
  /** Id of the orchestrator's task. */
  readonly task: number
  /** Claims of the work item so far. */
  readonly attempts: number
}

export interface PushAdded {
  readonly type: 'push'
  readonly config: PushConfig
}

export interface PushRemoved {
  readonly type: 'push_removed'
  readonly id: string
}

/** A webhook for the events of a task. */
export interface PushConfig {
  readonly id: string
  readonly url: string
  readonly token: string
  /** Scheme and credentials of the header `Authorization`; null: the header is not sent. */
  readonly authentication: { readonly scheme: string; readonly credentials: string } | null
  /** Protocol version of the client, which decides the format of the notifications. */
  readonly version: '1.0' | '0.3'
}

export type TaskEvent =
  | TaskCreated
  | TaskReply
  | TaskStatusChange
  | TaskResult
  | TaskDelegated
  | PushAdded
  | PushRemoved

/** An event with the key that identifies it in its task. */
export interface KeyedEvent {
  readonly key: string
  readonly event: TaskEvent
}

/** An event of the log. */
export interface LoggedEvent extends KeyedEvent {
  /** Grows with each event of a task. */
  readonly number: number
  /** Unix milliseconds of the store. */
  readonly at: number
}

/** Key of the event that ends a task. Only one event can have it, so a task ends once. */
export const END = 'end'

/** Returns the JSON text of an event. */
export function encodeEvent({ key, event }: KeyedEvent): string {
  return JSON.stringify({ key, ...wireEvent(event) })
}

function wireEvent(event: TaskEvent): object {
  switch (event.type) {
    case 'created':
    case 'reply':
      return { ...event, message: Message.toJSON(event.message) }
    case 'status': {
      const message = event.message === null ? null : Message.toJSON(event.message)
      return { ...event, state: taskStateToJSON(event.state), message }
    }
    case 'artifact':
      return { ...event, artifact: Artifact.toJSON(event.artifact) }
    default:
      return event
  }
}

/** Reads the JSON text of an event. Throws `A2S_LOG_INVALID`. */
export function decodeEvent(text: string): KeyedEvent {
  let value: ({ readonly key: string } & TaskEvent) | null
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw a2aServerErrors.create('A2S_LOG_INVALID', 'an event of an A2A task is not JSON', { cause })
  }
  if (value === null) throw a2aServerErrors.create('A2S_LOG_INVALID', 'an event of an A2A task is null')
  const { key, ...rest } = value
  return { key, event: eventOf(rest) }
}

function eventOf(wire: TaskEvent): TaskEvent {
  switch (wire.type) {
    case 'created':
    case 'reply':
      return { ...wire, message: Message.fromJSON(wire.message) }
    case 'status': {
      const message = wire.message === null ? null : Message.fromJSON(wire.message)
      return { ...wire, state: taskStateFromJSON(wire.state), message }
    }
    case 'artifact':
      return { ...wire, artifact: Artifact.fromJSON(wire.artifact) }
    case 'delegated':
    case 'push':
    case 'push_removed':
      return wire
    default: {
      const { type } = wire as { readonly type: unknown }
      throw a2aServerErrors.create('A2S_LOG_INVALID', `an event of an A2A task has the unknown type ${String(type)}`, {
        hint: 'a newer version of svc wrote it; update this process'
      })
    }
  }
}
