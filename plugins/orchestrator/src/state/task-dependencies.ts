/** Waiting tasks, by the task that they wait for. */
export class TaskDependencies {
  readonly #dependants = new Map<number, number[]>()

  /** Records that `task` waits for `on`. */
  add(task: number, on: number): void {
    const waiting = this.#dependants.get(on)
    if (waiting === undefined) this.#dependants.set(on, [task])
    else waiting.push(task)
  }

  /** Removes and returns the tasks that wait for a task. */
  take(on: number): readonly number[] {
    const waiting = this.#dependants.get(on)
    if (waiting === undefined) return []
    this.#dependants.delete(on)
    return waiting
  }

  /** Records that `task` no longer waits for `on`. */
  remove(task: number, on: number): void {
    const waiting = this.#dependants.get(on)
    if (waiting === undefined) return
    const at = waiting.indexOf(task)
    if (at !== -1) waiting.splice(at, 1)
    if (waiting.length === 0) this.#dependants.delete(on)
  }

  has(on: number): boolean {
    return this.#dependants.has(on)
  }
}
