import { type Coordination, MAX_COORDINATION_BATCH, type NewItem, type PutResult } from '@svc/contracts'
import { decodeEvent, encodeEvent, type KeyedEvent, type LoggedEvent } from './event.ts'

/**
 * Events of tasks in the coordination store: one queue for each task, which no worker claims. The id of an item is the
 * number of its event. A key is used once per task, so an event that two processes append is stored once.
 */
export class TaskLog {
  readonly #store: Coordination
  readonly #scope: string

  constructor(store: Coordination, scope: string) {
    this.#store = store
    this.#scope = scope
  }

  queueOf(task: string): string {
    return `a2a-log:${this.#scope}:${task}`
  }

  /** Returns the events of a task by number. */
  async read(task: string): Promise<readonly LoggedEvent[]> {
    const items = await this.#store.look(this.queueOf(task), { limit: MAX_COORDINATION_BATCH })
    return items.map(({ id, createdAt, body }) => ({ number: id, at: createdAt, ...decodeEvent(body) })).reverse()
  }

  /**
   * Appends events, and adds other items in the same transaction. The results are those of the events, then those of the
   * other items; `fresh` is false for a key that the task had before.
   */
  append(task: string, events: readonly KeyedEvent[], also: readonly NewItem[] = []): Promise<readonly PutResult[]> {
    const queue = this.queueOf(task)
    return this.#store.put([...events.map(each => ({ queue, key: each.key, body: encodeEvent(each) })), ...also])
  }

  /** Removes all events of a task. */
  async remove(task: string): Promise<void> {
    const queue = this.queueOf(task)
    for (;;) {
      const items = await this.#store.look(queue, { limit: MAX_COORDINATION_BATCH })
      // The first event last: without it, the task does not exist.
      for (const { id } of items) await this.#store.withdraw(queue, id)
      if (items.length < MAX_COORDINATION_BATCH) return
    }
  }
}
