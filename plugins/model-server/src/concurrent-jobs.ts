import { setMaxListeners } from 'node:events'

/** Generates one of several answers. `admitted`: the request was already admitted. */
export type Job<A> = (admitted: boolean, signal: AbortSignal) => Promise<AsyncIterable<A>>

export interface JobEvent<A> {
  /** Index of the job. */
  readonly index: number
  readonly event: A
}

/**
 * Runs up to `width` jobs concurrently, and merges their events in order of arrival. Resolves once the first job has
 * begun, so that a rejected request fails before the response begins. If one job fails, all are aborted.
 */
export async function runConcurrently<A>(
  jobs: readonly [Job<A>, ...Job<A>[]],
  width: number,
  signal: AbortSignal
): Promise<AsyncIterable<JobEvent<A>>> {
  const [first] = jobs
  if (jobs.length === 1) return numbered(await first(false, signal), 0)
  const controller = new AbortController()
  // Every job adds a listener; Node.js warns of a leak above ten.
  setMaxListeners(0, controller.signal)
  const abort = () => controller.abort()
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return merge(await first(false, controller.signal), jobs, width, controller)
  } catch (error) {
    abort()
    throw error
  }
}

async function* numbered<A>(events: AsyncIterable<A>, index: number): AsyncGenerator<JobEvent<A>, void> {
  for await (const event of events) yield { index, event }
}

async function* merge<A>(
  first: AsyncIterable<A>,
  jobs: readonly Job<A>[],
  width: number,
  controller: AbortController
): AsyncGenerator<JobEvent<A>, void> {
  const running = new Map<number, Promise<Arrival<A>>>()
  const open = new Set<AsyncIterator<A>>()
  const pull = (index: number, iterator: AsyncIterator<A>) => {
    open.add(iterator)
    running.set(index, arrival(index, iterator))
  }
  let next = 1
  // Do not await the start of a job. It may need a slot held by another job, whose events would not be read meanwhile.
  const begin = () => {
    const index = next++
    const job = jobs[index] as Job<A>
    const begun = job(true, controller.signal).then(events => {
      const iterator = events[Symbol.asyncIterator]()
      open.add(iterator)
      return arrival(index, iterator)
    })
    running.set(index, begun)
  }
  try {
    pull(0, first[Symbol.asyncIterator]())
    while (running.size > 0) {
      while (running.size < width && next < jobs.length) begin()
      const { index, iterator, result } = await Promise.race(running.values())
      running.delete(index)
      if (result.done === true) {
        open.delete(iterator)
        if (running.size === 0 && next < jobs.length) begin()
        continue
      }
      yield { index, event: result.value }
      pull(index, iterator)
    }
  } finally {
    controller.abort()
    await Promise.allSettled(running.values())
    await Promise.allSettled([...open].map(iterator => iterator.return?.()))
  }
}

interface Arrival<A> {
  readonly index: number
  readonly iterator: AsyncIterator<A>
  readonly result: IteratorResult<A>
}

async function arrival<A>(index: number, iterator: AsyncIterator<A>): Promise<Arrival<A>> {
  return { index, iterator, result: await iterator.next() }
}
