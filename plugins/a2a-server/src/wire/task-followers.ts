import { LinkedSignal } from '@svc/plugin-sdk'
import { a2aServerErrors } from '../errors.ts'
import type { TaskSnapshot } from '../tasks/snapshot.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import { WakeUp } from '../wake-up.ts'
import type { A2aCall } from './call.ts'

/** Time after which a task is read again, in case that a change was not announced. */
const LOOK_AGAIN_MS = 10_000

export interface TaskFollowersParts {
  readonly tasks: TaskStore
  readonly maxStreams: () => number
  /** Aborted when the server stops; streams then end. */
  readonly stopping: AbortSignal
}

/** Streams and requests that follow tasks. */
export class TaskFollowers {
  readonly #parts: TaskFollowersParts
  #streams = 0

  constructor(parts: TaskFollowersParts) {
    this.#parts = parts
  }

  /** Number of open streams and waiting requests. */
  get size(): number {
    return this.#streams
  }

  /** Throws `A2S_BUSY` if too many streams and waiting requests are open. */
  assertRoom(): void {
    const maxStreams = this.#parts.maxStreams()
    if (this.#streams < maxStreams) return
    throw a2aServerErrors.create('A2S_BUSY', `${maxStreams} streams and waiting requests are open, the maximum`, {
      hint: 'set returnImmediately, or raise max_streams in [plugins.a2a-server]'
    })
  }

  /** Yields a task, and its later states until a condition holds, the client disconnects, or the server stops. */
  async *follow(
    first: TaskSnapshot,
    call: A2aCall,
    until: (task: TaskSnapshot) => boolean
  ): AsyncGenerator<TaskSnapshot, void, undefined> {
    const { tasks, stopping } = this.#parts
    this.assertRoom()
    this.#streams += 1
    const changed = new WakeUp()
    const endWatch = tasks.watch(first.id, () => changed.set())
    const ended = new LinkedSignal().with(call.signal).with(stopping)
    const { signal } = ended
    try {
      yield first
      let task = first
      while (!until(task) && !signal.aborted) {
        const next = await tasks.find(task.id)
        if (next === null) return
        if (next.last > task.last) yield next
        task = next
        if (!until(task)) await changed.wait(LOOK_AGAIN_MS, signal)
      }
    } finally {
      this.#streams -= 1
      endWatch()
      ended.close()
    }
  }
}
