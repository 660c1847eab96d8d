import { taskLabel } from '@svc/contracts'

/** Abort signals of the tasks that workers of this process run. */
export class TaskSignals {
  readonly #controllers = new Map<number, AbortController>()

  /** Returns the signal of a task. If the task is not in progress, the signal is already aborted. */
  of(task: number, isInProgress: boolean): AbortSignal {
    const found = this.#controllers.get(task)
    if (found !== undefined) return found.signal
    const controller = new AbortController()
    if (isInProgress) this.#controllers.set(task, controller)
    else controller.abort(new Error(`Task ${taskLabel(task)} is not in progress`))
    return controller.signal
  }

  stopped(task: number, because: string): void {
    const controller = this.#controllers.get(task)
    if (controller === undefined) return
    this.#controllers.delete(task)
    const suffix = because === '' ? '' : `: ${because}`
    controller.abort(new Error(`Task ${taskLabel(task)} is no longer in progress${suffix}`))
  }

  /** Aborts all signals. */
  close(because: string): void {
    for (const task of [...this.#controllers.keys()]) this.stopped(task, because)
  }
}
