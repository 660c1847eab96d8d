import type { ModelStatistics } from '@svc/contracts'
import type { DecoderSession } from '../decoder-session.ts'
import { inferenceErrors } from '../errors.ts'
import type { CachePool } from './cache-pool.ts'
import { type CacheRow, CacheRows } from './cache-rows.ts'
import type { Job, Outcome } from './job.ts'
import { gather } from './placement.ts'
import { WaitingRoom } from './waiting-room.ts'

export interface SchedulerOptions {
  readonly session: DecoderSession
  readonly cache: CachePool
  /** Jobs that may wait for a slot. */
  readonly maxWaiting: number
}

/** A job that has a slot. */
interface Running {
  readonly job: Job
  /** Given when its first chunk is read. */
  row: CacheRow | null
  /** Until the tokens that it came with are read. */
  reading: boolean
}

/** A job that is computed. */
type Placed = Running & { readonly row: CacheRow }

/**
 * Decides what is computed next: continuous batching.
 *
 * Each round reads at most one chunk of one prompt, those who read taking turns, and computes one token of each sequence
 * that has read its prompt, all of them in one run. Jobs come and go between rounds. While a run is under way the event
 * loop is free; tokens are sampled between runs.
 */
export class Scheduler {
  readonly #session: DecoderSession
  readonly #cache: CachePool
  readonly #rows: CacheRows
  readonly #room: WaitingRoom<Running>
  /** In the order in which they read: whoever has read a chunk moves to the end. */
  readonly #running = new Set<Running>()
  readonly #counts = {
    promptTokens: 0,
    cachedPromptTokens: 0,
    completionTokens: 0,
    decodeRuns: 0,
    decodedSequences: 0,
    draftedTokens: 0,
    acceptedTokens: 0
  }
  #turning = false
  #stopped: (() => void) | null = null

  constructor({ session, cache, maxWaiting }: SchedulerOptions) {
    this.#session = session
    this.#cache = cache
    this.#rows = new CacheRows(cache.slots)
    this.#room = new WaitingRoom(maxWaiting)
  }

  get slots(): number {
    return this.#cache.slots
  }

  get active(): number {
    return this.#running.size
  }

  get waiting(): number {
    return this.#room.size
  }

  /** Takes a job on. Throws `INF_BUSY`, without calling its `end`, when it can neither run nor wait. */
  submit(job: Job): void {
    if (job.signal.aborted) {
      job.end({ type: 'cancelled' })
      return
    }
    const running: Running = { job, row: null, reading: true }
    if (this.#running.size < this.slots) this.#start(running)
    else this.#wait(running)
    job.signal.addEventListener('abort', () => this.#cancel(running), { once: true })
    this.wake()
  }

  /** Goes on after there was nothing that could be computed. */
  wake(): void {
    if (this.#turning) return
    this.#turning = true
    void this.#turn()
  }

  statistics(): Omit<ModelStatistics, 'weightBytes'> {
    return {
      ...this.#counts,
      cachePositions: this.slots * this.#cache.contextLength,
      cachePositionsUsed: this.#rows.used,
      cacheBytes: this.#cache.bytes
    }
  }

  /** Waits for the run under way, then frees the session. Callers have aborted their jobs before. */
  async close(): Promise<void> {
    if (this.#turning) await new Promise<void>(resolve => (this.#stopped = resolve))
    await this.#session.close()
  }

  #start(running: Running): void {
    this.#running.add(running)
    running.job.start()
  }

  #wait(running: Running): void {
    const entered = this.#room.enter(running.job.client, running)
    if (entered === false) throw this.#busyError()
    entered.displaced?.job.end({ type: 'failed', error: this.#busyError() })
  }

  #cancel(running: Running): void {
    if (this.#room.leave(running.job.client, running)) running.job.end({ type: 'cancelled' })
    else this.wake()
  }

  #finish(running: Running, outcome: Outcome): void {
    if (!this.#running.delete(running)) return
    if (running.row !== null) this.#rows.release(running.row)
    const next = this.#room.next()
    if (next !== null) this.#start(next)
    running.job.end(outcome)
  }

  async #turn(): Promise<void> {
    while (this.#busy) {
      await this.#round()
      await consumersHaveRun()
    }
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
      if (!running.reading) continue
      await this.#attempt([running], () => this.#read(running))
      break
    }
    for (const batch of this.#batches()) await this.#attempt(batch, () => this.#decode(batch))
  }

  /** Sequences that are computed in one run: those on the same weights. */
  #batches(): Iterable<Placed[]> {
    const batches = new Map<unknown, Placed[]>()
    for (const running of this.#running) {
      if (running.reading || !running.job.ready || running.job.signal.aborted) continue
      const batch = batches.get(running.job.weights) ?? []
      batches.set(running.job.weights, batch)
      batch.push(running as Placed)
    }
    return batches.values()
  }

  /** What fails for one run fails for all that took part in it. */
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

  /** Reads one chunk of a prompt. */
  async #read(running: Running): Promise<void> {
    const { job } = running
    running.row ??= this.#place(job)
    const { row } = running
    await this.#borrow(row, job)
    const start = row.length
    const end = Math.min(start + this.#session.chunk, job.tokens.length)
    await this.#session.reserve(end, this.#rows.lengths)
    const spans = [{ tokens: job.tokens.slice(start, end), position: start }]
    const logits = await this.#session.run({ row: row.index, spans, wanted: job.wanted, signal: job.signal })
    row.length = end
    this.#counts.promptTokens += end - start
    this.#running.delete(running)
    this.#running.add(running)
    running.reading = end < job.tokens.length
    if (!running.reading || job.wanted === 'all') this.#deliver(running as Placed, logits)
  }

  #place(job: Job): CacheRow {
    const row = this.#rows.take(job)
    this.#reuse(job, row.length)
    return row
  }

  /**
   * Copies what another row holds of the same tokens, which always costs less than computing it: an attention alone reads
   * as much. It is asked before each chunk, so that of several sequences with the same beginning, which came at the same
   * time, each computes a part.
   */
  async #borrow(row: CacheRow, job: Job): Promise<void> {
    const donor = this.#rows.donor(row, job)
    if (donor === null) return
    await this.#cache.copy(donor.row.index, row.index, row.length, donor.length)
    this.#reuse(job, donor.length - row.length)
    row.length = donor.length
  }

  #reuse(job: Job, count: number): void {
    this.#counts.cachedPromptTokens += count
    job.reuse(count)
  }

  /** Computes one token of each. */
  async #decode(batch: readonly Placed[]): Promise<void> {
    await this.#session.reserve(Math.max(...batch.map(({ row }) => row.length)) + 1, this.#rows.lengths)
    await this.#align(batch.map(({ row }) => row))
    const ordered = [...batch].sort((a, b) => a.row.index - b.row.index)
    const spans = ordered.map(({ job, row }) => ({ tokens: job.tokens.slice(row.length), position: row.length }))
    const [first] = ordered as [Placed, ...Placed[]]
    // Of several, one that is no longer wanted must not stop the others.
    const signal = ordered.length === 1 ? first.job.signal : undefined
    const logits = await this.#session.run({ row: first.row.index, spans, wanted: 'last', signal })
    this.#counts.decodeRuns++
    this.#counts.decodedSequences += ordered.length
    const { vocabularySize } = this.#session
    for (const [i, running] of ordered.entries()) {
      running.row.length++
      this.#deliver(running, logits.subarray(i * vocabularySize, (i + 1) * vocabularySize))
    }
  }

  async #align(rows: readonly CacheRow[]): Promise<void> {
    for (const [a, b] of gather(this.#rows.all, rows)) {
      await this.#cache.swap([a.index, b.index], [a.length, b.length])
      ;[a.index, b.index] = [b.index, a.index]
    }
  }

  /** Hands logits to a job, which ends when it has nothing left to compute. */
  #deliver(running: Placed, logits: Float32Array): void {
    const { job, row } = running
    if (job.signal.aborted) return
    try {
      if (job.take(logits) !== null) this.#counts.completionTokens++
      if (job.tokens.length === row.length) this.#finish(running, { type: 'finished' })
    } catch (error) {
      this.#finish(running, { type: 'failed', error })
    }
  }

  #busyError() {
    const { slots } = this
    const waiting = this.#room.size
    return inferenceErrors.create('INF_BUSY', `All ${slots} slots are taken and ${waiting} requests wait already`, {
      data: { slots, waiting },
      hint: 'Try again later, or load the model with more slots.'
    })
  }
}

/**
 * Settles after everything that waits for promises alone. What consumers do with a token comes before the next run in
 * this way, and does not take a processor from it.
 */
function consumersHaveRun(): Promise<void> {
  return new Promise(resolve => process.nextTick(resolve))
}
