import type { NewItem } from '@svc/contracts'
import type { KeyedEvent, TaskCreated } from '../tasks/event.ts'
import type { TaskRef } from '../tasks/messages.ts'
import type { TaskSnapshot } from '../tasks/snapshot.ts'

/** Runs the tasks of the protocol. */
export interface Target {
  /**
   * Returns the items that make a task run, and further events of it: a target that cannot run the task rejects it. Both
   * are stored in the transaction that creates the task.
   */
  accept(task: TaskRef, created: TaskCreated): Promise<Acceptance>
  /** Takes back the work of a task that its client cancelled. */
  cancelled(task: TaskSnapshot): Promise<void>
}

export interface Acceptance {
  readonly events: readonly KeyedEvent[]
  readonly items: readonly NewItem[]
}
