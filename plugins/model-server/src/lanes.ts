/** Makes one of several answers; `admitted`: the request that it belongs to has been let in already. */
export type Job<A> = (admitted: boolean, signal: AbortSignal) => Promise<AsyncIterable<A>>

export interface LaneEvent<A> {
  /** Which job it comes from. */
  readonly index: number
  readonly event: A
}

/**
 * Runs jobs side by side, `width` at once, and merges what they yield in the order in which it comes. Returns once the
 * first job has begun, so that whatever is refused is refused before an answer begins. When one fails, all end.
 */
export async function runInLanes<A>(
  jobs: readonly [Job<A>, ...Job<A>[]],
  width: number,
  signal: AbortSignal
): Promise<AsyncIterable<LaneEvent<A>>> {
  const [first] = jobs
  if (jobs.length === 1) return numbered(await first(false, signal), 0)
  const controller = new AbortController()
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

async function* numbered<A>(events: AsyncIterable<A>, index: number): AsyncGenerator<LaneEvent<A>, void> {
  for await (const event of events) yield { index, event }
}

async function* merge<A>(
  first: AsyncIterable<A>,
  jobs: readonly Job<A>[],
  width: number,
  controller: AbortController
): AsyncGenerator<LaneEvent<A>, void> {
  let next = 1
  const lanes = new Map<AsyncIterator<A>, Promise<Arrival<A>>>()
  const pull = (iterator: AsyncIterator<A>, index: number) => {
    lanes.set(
      iterator,
      iterator.next().then(result => ({ iterator, index, result }))
    )
  }
  const begin = async () => {
    const index = next++
    const events = await (jobs[index] as Job<A>)(true, controller.signal)
    pull(events[Symbol.asyncIterator](), index)
  }
  try {
    pull(first[Symbol.asyncIterator](), 0)
    while (lanes.size > 0) {
      while (lanes.size < width && next < jobs.length) await begin()
      const { iterator, index, result } = await Promise.race(lanes.values())
      if (result.done === true) {
        lanes.delete(iterator)
        if (lanes.size === 0 && next < jobs.length) await begin()
      } else {
        yield { index, event: result.value }
        pull(iterator, index)
      }
    }
  } finally {
    controller.abort()
    await Promise.allSettled([...lanes].flatMap(([iterator, arrival]) => [arrival, iterator.return?.()]))
  }
}

interface Arrival<A> {
  readonly iterator: AsyncIterator<A>
  readonly index: number
  readonly result: IteratorResult<A>
}
