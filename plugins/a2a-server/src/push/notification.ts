import type { NewItem } from '@svc/contracts'
import type { KeyedEvent, PushConfig } from '../tasks/event.ts'

/** Body of an item in the queue of notifications. The webhook and the event are read from the task when it is sent. */
export interface Notification {
  readonly task: string
  readonly config: string
  /** Key of the event. */
  readonly event: string
}

/** Returns the name of the queue of notifications. */
export function pushQueueOf(scope: string): string {
  return `a2a-push:${scope}`
}

/** Returns the items that notify the webhooks of a task about events that clients see. */
export function notificationsOf(
  task: string,
  events: readonly KeyedEvent[],
  pushes: readonly PushConfig[],
  scope: string,
  attempts: number
): readonly NewItem[] {
  const queue = pushQueueOf(scope)
  const seen = events.filter(({ event: { type } }) => type === 'status' || type === 'artifact' || type === 'reply')
  return seen.flatMap(({ key }) =>
    pushes.map(({ id }) => ({
      queue,
      key: `${task} ${id} ${key}`,
      body: JSON.stringify({ task, config: id, event: key } satisfies Notification),
      maxAttempts: attempts,
      // One at a time, so that a receiver gets the events of a task in their order as long as it accepts them.
      lane: `${task} ${id}`
    }))
  )
}
