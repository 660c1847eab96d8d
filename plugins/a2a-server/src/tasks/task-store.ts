import type { Coordination, NewItem, PutResult } from '@svc/contracts'
import { notificationsOf } from '../push/notification.ts'
import { END, type KeyedEvent, type PushConfig } from './event.ts'
import { entryOf, type IndexEntry } from './index-entry.ts'
import { TaskLog } from './log.ts'
import { snapshotOf, type TaskSnapshot } from './snapshot.ts'
import { hasEnded } from './states.ts'
import { type ListPage, type ListQuery, TaskIndex } from './task-index.ts'

/** Time between two reads of changes of other processes, while a task is watched. */
const POLL_MS = 250
const PRUNE_LEASE_MS = 30_000
/** Tasks that one call of {@link TaskStore.prune} removes at most. */
const PRUNE_BATCH = 200

export interface Appended {
  /** For each event, then for each other item: whether its key was new. */
  readonly results: readonly PutResult[]
  readonly task: TaskSnapshot
}

/**
 * Tasks of the protocol in the coordination store. All servers with the same store and scope see the same tasks: a task
 * is the sum of its events, and no process keeps state of it.
 */
export class TaskStore {
  readonly scope: string
  readonly #store: Coordination
  readonly #log: TaskLog
  readonly #index: TaskIndex
  /** Listeners of watched tasks. */
  readonly #watchers = new Map<string, Set<() => void>>()
  readonly #pushAttempts: number
  #polling: NodeJS.Timeout | null = null
  #isReading = false

  constructor(store: Coordination, scope: string, pushAttempts: number) {
    this.#store = store
    this.scope = scope
    this.#pushAttempts = pushAttempts
    this.#log = new TaskLog(store, scope)
    this.#index = new TaskIndex(store, scope, id => this.#announce(id))
  }

  /** Returns the state of a task; null if it does not exist, or was removed. */
  async find(id: string): Promise<TaskSnapshot | null> {
    return snapshotOf(id, await this.#log.read(id))
  }

  /**
   * Creates a task, and the items that make it run, in one transaction. If the task exists, nothing is added; null if it
   * existed, and was removed since.
   */
  async create(id: string, events: readonly KeyedEvent[], also: readonly NewItem[]): Promise<TaskSnapshot | null> {
    await this.#log.append(id, events, also)
    return this.#published(id)
  }

  /**
   * Appends events to a task that exists, with the notifications for its webhooks. A webhook that is added to an ended
   * task gets the last status.
   */
  async append(task: TaskSnapshot, events: readonly KeyedEvent[]): Promise<Appended> {
    // Webhooks may have been added since the snapshot.
    const pushes = task.pushes.length === 0 ? ((await this.find(task.id))?.pushes ?? []) : task.pushes
    const also = notificationsOf(task.id, events, pushes, this.scope, this.#pushAttempts)
    const results = await this.#log.append(task.id, events, also)
    const after = (await this.#published(task.id)) ?? task
    await this.#notifyOfEnd(after, pushes)
    return { results, task: after }
  }

  /** Ends a task. Returns whether these events ended it: a task ends once. */
  async end(task: TaskSnapshot, events: readonly KeyedEvent[]): Promise<{ ended: boolean; task: TaskSnapshot }> {
    const appended = await this.append(task, events)
    const at = events.findIndex(({ key }) => key === END)
    return { ended: appended.results[at]?.fresh === true, task: appended.task }
  }

  /** Returns a page of an owner's tasks, most recently changed first. */
  async list(query: ListQuery): Promise<ListPage> {
    await this.#index.refresh()
    return this.#index.list(query)
  }

  /** Returns the unfinished tasks of all owners. */
  async open(): Promise<readonly IndexEntry[]> {
    await this.#index.refresh()
    return this.#index.open()
  }

  async countOpen(owner: string): Promise<number> {
    await this.#index.refresh()
    return this.#index.countOpen(owner)
  }

  /**
   * Calls `wake` after each change of a task, also by another process; changes may be announced twice. Returns the
   * function that ends it.
   */
  watch(id: string, wake: () => void): () => void {
    const watchers = this.#watchers.get(id) ?? new Set()
    this.#watchers.set(id, watchers.add(wake))
    const endHints = this.#store.hints([this.#log.queueOf(id)], wake)
    this.#polling ??= setInterval(() => void this.#poll(), POLL_MS).unref()
    return () => {
      endHints()
      watchers.delete(wake)
      if (watchers.size === 0 && this.#watchers.get(id) === watchers) this.#watchers.delete(id)
      if (this.#watchers.size === 0) this.close()
    }
  }

  /** Removes the oldest ended tasks beyond the newest `keep`, at most 200. One process at a time does. */
  async prune(keep: number, holder: string): Promise<number> {
    await this.#index.refresh()
    const surplus = this.#index.surplus(keep).slice(0, PRUNE_BATCH)
    if (surplus.length === 0) return 0
    const lease = await this.#store.grant(`a2a-prune:${this.scope}`, 'prune', holder, PRUNE_LEASE_MS)
    if ('heldBy' in lease) return 0
    for (const { id } of surplus) {
      await this.#log.remove(id)
      await this.#index.remove(id)
    }
    await this.#store.release(lease)
    return surplus.length
  }

  /** Ends the polling. A later {@link watch} starts it again. */
  close(): void {
    if (this.#polling !== null) clearInterval(this.#polling)
    this.#polling = null
  }

  /** Queues the last status of an ended task for its webhooks, except those that were notified of it. */
  async #notifyOfEnd(task: TaskSnapshot, notified: readonly PushConfig[]): Promise<void> {
    if (!hasEnded(task.state)) return
    const late = task.pushes.filter(({ id }) => notified.every(each => each.id !== id))
    const last = task.events.findLast(({ event }) => event.type === 'status')
    if (late.length === 0 || last === undefined) return
    await this.#store.put(notificationsOf(task.id, [last], late, this.scope, this.#pushAttempts))
  }

  async #published(id: string): Promise<TaskSnapshot | null> {
    const task = await this.find(id)
    if (task !== null) await this.#index.publish(entryOf(task))
    this.#announce(id)
    return task
  }

  #announce(id: string): void {
    for (const wake of this.#watchers.get(id) ?? []) wake()
  }

  async #poll(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      await this.#index.refresh()
    } catch {
      // The store does not respond; the next read catches up, and requests report the error.
    } finally {
      this.#isReading = false
    }
  }
}
