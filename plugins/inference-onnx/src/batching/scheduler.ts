import type { ModelStatistics } from '@svc/contracts'
import type { DecoderSession } from '../decoder-session.ts'
import { inferenceErrors } from '../errors.ts'
import type { CachePool } from './cache-pool.ts'
import { CacheRows } from './cache-rows.ts'
import { FairQueue } from './fair-queue.ts'
import type { Job, JobOutcome } from './job.ts'
import { promptsWith } from './prompt-groups.ts'
import { StateSnapshots } from './state-snapshots.ts'
import { type Computed, isUnread, type Placed, type Running, Steps } from './steps.ts'

export interface SchedulerOptions {
  readonly session: DecoderSession
  readonly cache: CachePool
  /** Maximum number of speculated tokens for a single sequence; 0 disables speculation. */
  readonly maxDraft: number
  /** True if prompts of different lengths can be computed in one run. */
  readonly joinsPrompts: boolean
}

/**
 * Continuous batching: decides which jobs run next.
 *
 * Each round runs at most one chunk, of one prompt or of several short ones, round-robin between prompts. It also computes
 * one token of each sequence whose prompt is done, all in one run. Jobs come and go between rounds. Tokens are sampled
 * between runs and delivered during the next run, so consumers do not delay a stream.
 */
export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #rows: CacheRows
  readonly #snapshots: StateSnapshots | null
  readonly #steps: Steps
  readonly #queue = new FairQueue<Running>()
  /** Jobs with a slot, least recently read first: a job moves to the end after each chunk. */
  readonly #running = new Set<Running>()
  #completionTokens = 0
  #turning = false
  #stopped: (() => void) | null = null

  constructor(options: SchedulerOptions) {
    this.#options = options
    const { cache } = options
    this.#snapshots = cache.recurrent ? new StateSnapshots(cache) : null
    this.#rows = new CacheRows(cache.slots, this.#snapshots)
    this.#steps = new Steps({
      ...options,
      rows: this.#rows,
      snapshots: this.#snapshots,
      deliver: computed => this.#deliver(computed)
    })
  }

  get slots(): number {
    return this.#options.cache.slots
  }

  get active(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Accepts a job. Throws `INF_BUSY`, without calling its `end`, if all slots are in use and the queue is full. */
  submit(job: Job): void {
    if (job.signal.aborted) {
      job.end({ type: 'cancelled' })
      return
    }
    const cancel = () => this.#cancel(running)
    const running: Running = { job, row: null, reading: true, saveAt: [], speculation: null, cancel }
    if (this.#running.size < this.slots) this.#start(running)
    else this.#wait(running)
    job.signal.addEventListener('abort', cancel)
    this.wake()
  }

  /** Resumes the rounds after an idle phase. */
  wake(): void {
    if (this.#turning) return
    this.#turning = true
    void this.#turn()
  }

  statistics(): Omit<ModelStatistics, 'weightBytes'> {
    const { cache } = this.#options
    return {
      ...this.#steps.counts,
      completionTokens: this.#completionTokens,
      cachePositions: this.slots * cache.contextLength,
      cachePositionsUsed: this.#rows.used,
      cacheBytes: cache.bytes
    }
  }

  /** Waits for the current run, then closes the session. Callers must have aborted their jobs. */
  async close(): Promise<void> {
    if (this.#turning) await new Promise<void>(resolve => (this.#stopped = resolve))
    this.#snapshots?.release()
    await this.#options.session.close()
  }

  #start(running: Running): void {
    this.#running.add(running)
    running.job.start()
  }

  #wait(running: Running): void {
    const { client, maxWaiting } = running.job
    const added = this.#queue.add(client, running, maxWaiting)
    if (added === false) throw this.#busyError()
    if (added.displaced !== null) end(added.displaced, { type: 'failed', error: this.#busyError() })
  }

  #cancel(running: Running): void {
    if (this.#queue.remove(running.job.client, running)) end(running, { type: 'cancelled' })
    else this.wake()
  }

  #finish(running: Running, outcome: JobOutcome): void {
    if (!this.#running.delete(running)) return
    if (running.row !== null) this.#rows.release(running.row)
    const next = this.#queue.next()
    if (next !== null) this.#start(next)
    end(running, outcome)
  }

  async #turn(): Promise<void> {
    while (this.#busy) await this.#round()
    this.#turning = false
    this.#stopped?.()
  }

  get #busy(): boolean {
    for (const { job } of this.#running) if (job.ready || job.signal.aborted) return true
    return false
  }

  async #round(): Promise<void> {
    for (const running of this.#running) {
      if (running.job.signal.aborted) this.#finish(running, { type: 'cancelled' })
    }
    for (const running of this.#running) {
      if (!this.#reads(running)) continue
      this.#running.delete(running)
      this.#running.add(running)
      const [other, ...others] = this.#readWith(running)
      if (other === undefined) await this.#attempt([running], () => this.#steps.read(running))
      else {
        const batch = [running, other, ...others] as const
        await this.#attempt(batch, () => this.#steps.readTogether(batch))
      }
      break
    }
    const batches = [...this.#batches()]
    if (batches.length > 1) await this.#attempt(batches.flat(), () => this.#steps.arrange(batches))
    for (const batch of batches) {
      // A failed batch may have evicted rows of this batch.
      const left = batch.filter(running => this.#running.has(running) && !this.#reads(running))
      if (left.length > 0) await this.#attempt(left, () => this.#compute(left))
    }
  }

  /** Returns the prompts that are computed in one run with another; they become the most recently read ones. */
  #readWith(first: Running): Running[] {
    const { session, joinsPrompts } = this.#options
    if (!joinsPrompts || !isUnread(first)) return []
    const group = session.groupOf(first.job.weights)
    const others = [...this.#running].filter(
      each => each !== first && isUnread(each) && session.groupOf(each.job.weights) === group
    )
    const chosen = promptsWith(first, others, { chunk: session.chunk, promptOf: ({ job }) => job })
    for (const running of chosen) {
      this.#running.delete(running)
      this.#running.add(running)
    }
    return chosen
  }

  /** True if more than the latest token must be read: the prompt, or all tokens after an eviction. */
  #reads({ row, reading, job }: Running): boolean {
    return reading || (row !== null && job.tokens.length - row.length > 1)
  }

  #compute(batch: readonly Placed[]): Promise<void> {
    const [first] = batch
    if (first === undefined || this.#running.size > 1) return this.#steps.decode(batch)
    return this.#steps.decodeAhead(first)
  }

  /** Groups the sequences that can share a run, by their weights. */
  #batches(): Iterable<Placed[]> {
    const batches = new Map<unknown, Placed[]>()
    for (const running of this.#running) {
      if (this.#reads(running) || !running.job.ready || running.job.signal.aborted) continue
      const group = this.#options.session.groupOf(running.job.weights)
      const batch = batches.get(group) ?? []
      batches.set(group, batch)
      batch.push(running as Placed)
    }
    return batches.values()
  }

  /** Runs `work`. If it throws, all its jobs fail. */
  async #attempt(jobs: readonly Running[], work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      for (const running of jobs) {
        const { aborted } = running.job.signal
        this.#finish(running, aborted ? { type: 'cancelled' } : { type: 'failed', error })
      }
    }
  }

  /** Passes a result to its job, and finishes the job if it has nothing left to compute. Returns the chosen token. */
  #deliver({ running, take }: Computed): number | null {
    const { job, row } = running
    if (job.signal.aborted) return null
    try {
      const token = take()
      if (token !== null) this.#completionTokens++
      if (job.tokens.length === row.length) this.#finish(running, { type: 'finished' })
      return token
    } catch (error) {
      this.#finish(running, { type: 'failed', error })
      return null
    }
  }

  #busyError() {
    const { slots } = this
    const waiting = this.#queue.size
    return inferenceErrors.create('INF_BUSY', `All ${slots} slots are in use and ${waiting} requests are queued`, {
      data: { slots, waiting },
      hint: 'Try again later, or load the model with more slots.'
    })
  }
}

/** Ends a job, and removes its listener from the signal, which may outlive the job. */
function end({ job, cancel }: Running, outcome: JobOutcome): void {
  job.signal.removeEventListener('abort', cancel)
  job.end(outcome)
}
