/** A task as all that are compared are given it. */
export interface BenchTask {
  readonly id: number
  readonly description: string
  readonly file: string
}

/** What a queue tells of each task. */
export interface TaskProgress {
  /** A worker has it. */
  started(id: number): void
  /** That it was done is kept: it survives the end of every process. */
  completed(id: number): void
}

/** One of those that are compared, with a worker that has nothing to do but to say that it is done. */
export interface TaskQueue {
  readonly name: string
  /** Versions, and how it is set up. */
  readonly about: string
  /** Resolves when all are kept. */
  submit(tasks: readonly BenchTask[]): Promise<void>
  close(): Promise<void>
}
