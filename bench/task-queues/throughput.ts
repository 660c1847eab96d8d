import type { BenchTask, TaskProgress, TaskQueue } from './task-queue.ts'

/** Calls callbacks when tasks start and complete. */
export class Progress implements TaskProgress {
  readonly onStarted = new Map<number, () => void>()
  readonly onCompleted = new Map<number, () => void>()

  started(id: number): void {
    this.onStarted.get(id)?.()
    this.onStarted.delete(id)
  }

  completed(id: number): void {
    this.onCompleted.get(id)?.()
    this.onCompleted.delete(id)
  }
}

let ids = 0

/** Returns a task with a new id, with a description and a file of a usual length. */
export function nextTask(): BenchTask {
  ids += 1
  return {
    id: ids,
    description:
      `Read the review comments on part ${ids}, fix the problems that they name, and explain each fix in two sentences. `.repeat(
        2
      ),
    file: `src/part-${ids}/index.ts`
  }
}

export interface Load {
  /** Number of tasks between submit and completion. */
  readonly concurrency: number
  readonly milliseconds: number
}

/** Measures tasks per second at a fixed concurrency. Tasks of the same turn of the event loop are submitted in bulk. */
export async function throughput(
  queue: TaskQueue,
  progress: Progress,
  { concurrency, milliseconds }: Load
): Promise<number> {
  let completed = 0
  let due: BenchTask[] = []
  let finish = (): void => {}
  let fail = (_error: unknown): void => {}
  const finished = new Promise<void>((resolve, reject) => {
    finish = resolve
    fail = reject
  })
  const begin = performance.now()
  const end = begin + milliseconds
  let inFlight = 0
  const flush = (): void => {
    const tasks = due
    due = []
    queue.submit(tasks).then(() => {
      for (const { id } of tasks) half(id)
    }, fail)
  }
  const halves = new Set<number>()
  /** Counts half a task: both the submit and the completion must be acknowledged. */
  const half = (id: number): void => {
    if (!halves.delete(id)) return void halves.add(id)
    completed += 1
    inFlight -= 1
    if (performance.now() < end) launch()
    else if (inFlight === 0) finish()
  }
  const launch = (): void => {
    inFlight += 1
    const task = nextTask()
    progress.onCompleted.set(task.id, () => half(task.id))
    due.push(task)
    if (due.length === 1) setImmediate(flush)
  }
  for (let at = 0; at < concurrency; at += 1) launch()
  await finished
  return completed / ((performance.now() - begin) / 1_000)
}
