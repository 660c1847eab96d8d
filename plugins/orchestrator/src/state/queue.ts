import type { Priority } from '@svc/contracts'
import { PRIORITIES, rank } from './priority.ts'
import { queuedAt, type Task } from './task.ts'

/** Maximum tasks of one priority that are sorted to find the least urgent ones. */
const MAX_SORTED = 1_000

/** Returns true if `one` is served before `other`: the older first, then the lower id. */
function before(one: Task, other: Task): boolean {
  return one.createdAt < other.createdAt || (one.createdAt === other.createdAt && one.id < other.id)
}

/** Binary heap whose tasks store their index, so that any task can be removed in logarithmic time. */
class TaskHeap {
  readonly #tasks: Task[] = []

  get size(): number {
    return this.#tasks.length
  }

  get first(): Task | undefined {
    return this.#tasks[0]
  }

  add(task: Task): void {
    task.slot = this.#tasks.length
    this.#tasks.push(task)
    this.#up(task)
  }

  remove(task: Task): void {
    const { slot } = task
    const last = this.#tasks.pop() as Task
    task.slot = -1
    if (last === task) return
    last.slot = slot
    this.#tasks[slot] = last
    this.#up(last)
    this.#down(last)
  }

  /** Returns the tasks in heap order. */
  values(): readonly Task[] {
    return this.#tasks
  }

  #up(task: Task): void {
    while (task.slot > 0) {
      const above = this.#tasks[(task.slot - 1) >> 1] as Task
      if (!before(task, above)) return
      this.#swap(task, above)
    }
  }

  #down(task: Task): void {
    for (;;) {
      const left = 2 * task.slot + 1
      if (left >= this.#tasks.length) return
      let child = this.#tasks[left] as Task
      const right = this.#tasks[left + 1]
      if (right !== undefined && before(right, child)) child = right
      if (!before(child, task)) return
      this.#swap(task, child)
    }
  }

  #swap(one: Task, other: Task): void {
    const { slot } = one
    one.slot = other.slot
    other.slot = slot
    this.#tasks[one.slot] = one
    this.#tasks[other.slot] = other
  }
}

/** Runnable tasks of one agent: by priority, and first in, first out within a priority. */
export class RunQueue {
  readonly #heaps = [new TaskHeap(), new TaskHeap(), new TaskHeap()] as const

  get size(): number {
    return this.#heaps[0].size + this.#heaps[1].size + this.#heaps[2].size
  }

  sizeOf(priority: Priority): number {
    return this.#heaps[rank(priority)].size
  }

  /** Task that is served next. */
  get first(): Task | undefined {
    return this.#heaps[0].first ?? this.#heaps[1].first ?? this.#heaps[2].first
  }

  add(task: Task): void {
    this.#heaps[rank(task.priority)].add(task)
  }

  /** Removes a task. It must be in the queue, and still have the priority that it was added with. */
  remove(task: Task): void {
    this.#heaps[rank(task.priority)].remove(task)
  }

  /** Iterates over the tasks in no particular order. */
  *values(): Iterable<Task> {
    for (const heap of this.#heaps) yield* heap.values()
  }

  /**
   * Iterates over the least urgent tasks: lowest priority first, then newest first. In a long queue this is approximate:
   * only the end of the heap is sorted, where new tasks usually are.
   */
  *leastUrgent(): Iterable<Task> {
    for (const priority of [...PRIORITIES].reverse()) {
      const last = this.#heaps[rank(priority)].values().slice(-MAX_SORTED)
      yield* last.sort((one, other) => (before(one, other) ? 1 : -1))
    }
  }

  /** Returns the tasks that have been waiting since before `time`. */
  waitingSince(time: number): readonly Task[] {
    return this.#heaps.flatMap(heap =>
      // The first task is the oldest: if it is young enough, so are all others.
      (heap.first?.createdAt ?? Infinity) < time ? heap.values().filter(task => queuedAt(task) < time) : []
    )
  }
}
