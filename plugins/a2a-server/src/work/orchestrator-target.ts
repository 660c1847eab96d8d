import type { Coordination, NewItem } from '@svc/contracts'
import type { TaskCreated } from '../tasks/event.ts'
import { workKeyOf } from '../tasks/ids.ts'
import type { TaskRef } from '../tasks/messages.ts'
import type { TaskSnapshot } from '../tasks/snapshot.ts'
import type { Acceptance, Target } from './target.ts'

/** Body of a work item. Everything else is in the events of the task. */
export interface Work {
  readonly task: string
}

/** Queue of tasks for the orchestrators of a scope. */
export function workQueueOf(scope: string): string {
  return `a2a-work:${scope}`
}

/**
 * Runs tasks in the orchestrator of any process that serves the scope: each task is one work item, which the process
 * that runs it holds until the task has ended.
 */
export class OrchestratorTarget implements Target {
  readonly #store: Coordination
  readonly #queue: string

  constructor(store: Coordination, scope: string) {
    this.#store = store
    this.#queue = workQueueOf(scope)
  }

  async accept({ id }: TaskRef, created: TaskCreated): Promise<Acceptance> {
    return { events: [], items: [this.#itemOf(id, created)] }
  }

  /** Only wakes the work item: the process that claims it cancels the orchestrator's task, and then removes it. */
  async cancelled({ created }: TaskSnapshot): Promise<void> {
    await this.#store.wake(this.#queue, [keyOf(created)])
  }

  #itemOf(id: string, created: TaskCreated): NewItem {
    return { queue: this.#queue, key: keyOf(created), body: JSON.stringify({ task: id } satisfies Work) }
  }
}

function keyOf({ owner, message }: TaskCreated): string {
  return workKeyOf(owner, '', message.messageId)
}
