/** Task that is submitted to the queues. */
export interface BenchTask {
  readonly id: number
  readonly description: string
  readonly file: string
}

/** Events of a queue for each task. */
export interface TaskProgress {
  /** A worker has started the task. */
  started(id: number): void
  /** The completion is durable: it survives the end of every process. */
  completed(id: number): void
}

/** Queue under test, with a worker that completes every task immediately. */
export interface TaskQueue {
  readonly name: string
  /** Versions and configuration, for the report. */
  readonly about: string
  /** Resolves when all tasks are durable. */
  submit(tasks: readonly BenchTask[]): Promise<void>
  close(): Promise<void>
}
