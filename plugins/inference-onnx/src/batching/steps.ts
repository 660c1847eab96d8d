import type { DecoderRun, DecoderSession } from '../decoder-session.ts'
import type { Candidates } from '../sampling/candidates.ts'
import type { CachePool } from './cache-pool.ts'
import type { CacheRow, CacheRows } from './cache-rows.ts'
import type { Span } from './frame.ts'
import type { Job } from './job.ts'
import { arrange, gather } from './placement.ts'
import { RunCosts, Speculation } from './speculation.ts'
import type { StateSnapshots } from './state-snapshots.ts'

/** A job with a slot. */
export interface Running {
  readonly job: Job
  /** Cache row; null until the first chunk is read. */
  row: CacheRow | null
  /** True until its initial tokens are read. */
  reading: boolean
  /** Lengths at which the states of the row are saved, because other prompts may continue from there. */
  saveAt: readonly number[]
  /** Created once the job is the only running one. */
  speculation: Speculation | null
  /** Listener on the job's signal. */
  readonly cancel: () => void
}

/** True if nothing of the prompt was computed or found in the cache. */
export function isUnread({ reading, row }: Running): boolean {
  return reading && (row === null || row.length === 0)
}

/** Running job that has a cache row. */
export type Placed = Running & { readonly row: CacheRow }

/** Result of a run for one job. */
export interface Computed {
  readonly running: Placed
  /** Passes the result to the job; returns the chosen token. */
  take(): number | null
}

export interface StepsOptions {
  readonly session: DecoderSession
  readonly cache: CachePool
  readonly rows: CacheRows
  /** Null if all states of the cache can be cut back. */
  readonly snapshots: StateSnapshots | null
  readonly maxDraft: number
  /** Delivers a result to its job; returns the chosen token. */
  deliver(computed: Computed): number | null
}

/** Prompts from this length on are saved shortly before their end: the next turn often continues from there. */
const MIN_SAVED = 64
/** Tokens before the end of a prompt that the next turn replaces, such as the beginning of an answer. */
const SAVED_BEFORE_END = 16

/** Executes the steps of the scheduler on the decoder. Steps must not overlap. */
export class Steps {
  readonly counts = {
    promptTokens: 0,
    cachedPromptTokens: 0,
    decodeRuns: 0,
    decodedSequences: 0,
    draftedTokens: 0,
    acceptedTokens: 0
  }
  readonly #options: StepsOptions
  readonly #costs = new RunCosts()

  constructor(options: StepsOptions) {
    this.#options = options
  }

  /** Computes one chunk of a prompt. */
  async read(running: Running): Promise<void> {
    const { session, rows, cache, snapshots, deliver } = this.#options
    const { job } = running
    if (running.row === null) await this.#place(running)
    const { row } = running as Placed
    await this.#borrow(row, job)
    const start = row.length
    const chunk = Math.min(session.chunk, job.maxChunk ?? session.chunk)
    const whole = Math.min(start + chunk, job.tokens.length)
    const end = Math.min(whole, ...running.saveAt.filter(length => length > start))
    await session.reserve(end, rows.lengths)
    if (cache.recurrent && start === 0) await cache.clear(row.index)
    const spans = [{ tokens: job.tokens.slice(start, end), position: start }]
    const logits = await this.#changing([row], () =>
      session.run({ row: row.index, spans, wanted: job.wanted, weights: [job.weights], signal: job.signal })
    )
    row.length = end
    // Saved states only help later prompts, so this one goes on without memory for them.
    if (running.saveAt.includes(end)) await snapshots?.take(row).catch(() => undefined)
    this.counts.promptTokens += end - start
    running.reading = end < job.tokens.length
    if (running.reading && job.wanted !== 'all') return
    const [candidates = null] = (await this.#candidates([job])) ?? []
    deliver({ running: running as Placed, take: () => job.take(logits, candidates) })
  }

  /**
   * Computes several whole prompts in one run. If the cache contains the beginning of the first one, it is read by
   * itself; others of which the cache contains the beginning are read later.
   */
  async readTogether(batch: readonly [Running, ...Running[]]): Promise<void> {
    const { session, rows, deliver } = this.#options
    const fresh: Placed[] = []
    for (const running of batch) {
      if (running.row === null) await this.#place(running)
      const placed = running as Placed
      await this.#borrow(placed.row, placed.job)
      if (placed.row.length === 0) fresh.push(placed)
      else if (running === batch[0]) break
    }
    if (fresh.length < 2) return this.read(batch[0])
    await session.reserve(Math.max(...fresh.map(({ job }) => job.tokens.length)), rows.lengths)
    await this.#swap(
      gather(
        rows.all,
        fresh.map(({ row }) => row)
      )
    )
    const ordered = [...fresh].sort((a, b) => a.row.index - b.row.index)
    const jobs = ordered.map(({ job }) => job)
    const spans = jobs.map(({ tokens }) => ({ tokens: tokens.slice(), position: 0 }))
    const row = Math.min(...ordered.map(({ row }) => row.index))
    const logits = await session.run({ row, spans, wanted: 'last', weights: jobs.map(({ weights }) => weights) })
    const candidates = await this.#candidates(jobs)
    for (const [i, running] of ordered.entries()) {
      const { job } = running
      const { length } = (spans[i] as Span).tokens
      running.row.length = length
      running.reading = false
      this.counts.promptTokens += length
      const ranked = job.temperature === null ? null : (candidates?.[i] ?? null)
      deliver({ running, take: () => job.take(this.#logitsOf(i, logits), ranked) })
    }
  }

  /** Makes the rows of each batch adjacent. */
  async arrange(batches: readonly (readonly Placed[])[]): Promise<void> {
    const groups = batches.map(batch => batch.map(({ row }) => row))
    await this.#swap(arrange(this.#options.rows.all, groups))
  }

  /** Computes one token of each sequence, in one run. */
  async decode(batch: readonly Placed[]): Promise<void> {
    const { session, rows, deliver } = this.#options
    await session.reserve(Math.max(...batch.map(({ row }) => row.length)) + 1, rows.lengths)
    await this.#swap(
      gather(
        rows.all,
        batch.map(({ row }) => row)
      )
    )
    const ordered = [...batch].sort((a, b) => a.row.index - b.row.index)
    const spans = ordered.map(({ job, row }) => ({ tokens: job.tokens.slice(row.length), position: row.length }))
    const [first] = ordered as [Placed, ...Placed[]]
    // In a run for several jobs, an abort of one must not stop the others.
    const signal = ordered.length === 1 ? first.job.signal : undefined
    const run = { row: first.row.index, spans, weights: ordered.map(({ job }) => job.weights), signal }
    const takes = await this.#changing(
      ordered.map(({ row }) => row),
      () => this.#chooseFrom(run, ordered)
    )
    for (const [i, running] of ordered.entries()) {
      running.row.length++
      deliver({ running, take: takes[i] as () => number | null })
    }
  }

  /**
   * Runs a batch, and returns a function per job that passes the result on. Uses the argmax if all jobs need only that.
   */
  async #chooseFrom(run: Omit<DecoderRun, 'wanted'>, batch: readonly Placed[]): Promise<(() => number | null)[]> {
    const { session } = this.#options
    const greedy = batch.flatMap(({ job }) => job.takeArgmax ?? [])
    if (session.computesArgmax && greedy.length === batch.length) {
      const tokens = await this.#timed(run, () => session.runForArgmax(run))
      return greedy.map((take, i) => () => take(tokens[i] as number))
    }
    const jobs = batch.map(({ job }) => job)
    const [logits, candidates] = await this.#timed(run, async () => [
      await session.run({ ...run, wanted: 'last' }),
      await this.#candidates(jobs)
    ])
    return jobs.map(
      (job, i) => () => job.take(this.#logitsOf(i, logits), job.temperature === null ? null : (candidates?.[i] ?? null))
    )
  }

  /** Returns the candidates of the latest run, one per job; null if no job needs them or they are not computed. */
  async #candidates(jobs: readonly Job[]): Promise<readonly Candidates[] | null> {
    if (jobs.every(({ temperature }) => temperature === null)) return null
    return this.#options.session.candidates(jobs.map(({ temperature }) => temperature ?? 1))
  }

  /**
   * Computes one token of a single sequence, and drafted tokens as far as they are accepted.
   *
   * Each drafted token is compared with the token chosen from the logits before it, so the result equals that of
   * {@link decode}. Cache entries of rejected tokens are overwritten later.
   */
  async decodeAhead(running: Placed): Promise<void> {
    const { session, cache, rows, maxDraft, deliver } = this.#options
    const { job, row } = running
    running.speculation ??= new Speculation(job.tokens, this.#costs, maxDraft)
    const draft = running.speculation.draft(cache.contextLength - row.length - 1)
    if (draft.length === 0) return this.decode([running])
    const tokens = [job.tokens[row.length] as number, ...draft]
    await session.reserve(row.length + tokens.length, rows.lengths)
    const spans = [{ tokens, position: row.length }]
    const run = { row: row.index, spans, wanted: 'all' as const, weights: [job.weights], signal: job.signal }
    const [logits, candidates] = await this.#timed(run, async () => [
      await session.run(run),
      await this.#candidates(tokens.map(() => job))
    ])
    let accepted = 0
    for (;;) {
      row.length++
      const own = this.#logitsOf(accepted, logits)
      const ranked = candidates?.[accepted] ?? null
      const token = deliver({ running, take: () => job.take(own, ranked) })
      const continues = token !== null && job.tokens.length > row.length
      if (!continues || accepted === draft.length || token !== draft[accepted]) break
      accepted++
    }
    this.counts.draftedTokens += draft.length
    this.counts.acceptedTokens += accepted
    running.speculation.settle(draft.length, accepted)
  }

  async #timed<T>({ spans }: Pick<DecoderRun, 'spans'>, run: () => Promise<T>): Promise<T> {
    const start = performance.now()
    const result = await run()
    const [span, ...others] = spans
    if (span !== undefined && others.length === 0) this.#costs.observe(span.tokens.length, performance.now() - start)
    this.counts.decodeRuns++
    this.counts.decodedSequences += spans.length
    return result
  }

  #logitsOf(row: number, logits: Float32Array): Float32Array {
    const { vocabularySize } = this.#options.session
    return logits.subarray(row * vocabularySize, (row + 1) * vocabularySize)
  }

  async #place(running: Running): Promise<void> {
    const { rows, snapshots } = this.#options
    const { job } = running
    if (snapshots !== null && job.reusePrefix) {
      const { length } = job.tokens
      const beforeEnd = length >= MIN_SAVED ? [length - SAVED_BEFORE_END] : []
      running.saveAt = [...beforeEnd, ...[rows.divergence(job) ?? []].flat()]
    }
    const { row, snapshot } = rows.take(job)
    running.row = row
    if (snapshot !== null) await this.#changing([row], async () => snapshots?.restore(snapshot, row.index))
    this.#reuse(job, row.length)
  }

  /** Runs work that changes rows. If it fails, states that cannot be cut back are undefined, so the rows are empty. */
  async #changing<T>(rows: readonly CacheRow[], work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (this.#options.cache.recurrent) for (const row of rows) row.length = 0
      throw error
    }
  }

  /**
   * Copies cache entries from another row with the same tokens, which is cheaper than computing them. Called before
   * each chunk, so that concurrent sequences with the same prefix share the work.
   */
  async #borrow(row: CacheRow, job: Job): Promise<void> {
    const donor = this.#options.rows.donor(row, job)
    if (donor === null) return
    const { cache, snapshots } = this.#options
    const { snapshot } = donor
    await this.#changing([row], async () => {
      await cache.copy(donor.row.index, row.index, row.length, donor.length, snapshot === null)
      if (snapshot !== null) await snapshots?.restore(snapshot, row.index)
    })
    this.#reuse(job, donor.length - row.length)
    row.length = donor.length
  }

  #reuse(job: Job, count: number): void {
    this.counts.cachedPromptTokens += count
    job.reuse(count)
  }

  async #swap(pairs: readonly (readonly [CacheRow, CacheRow])[]): Promise<void> {
    for (const [a, b] of pairs) {
      try {
        await this.#options.cache.swap([a.index, b.index], [a.length, b.length])
      } catch (error) {
        // The contents of both rows are undefined now, so their sequences read all tokens again.
        a.length = 0
        b.length = 0
        throw error
      }
      ;[a.index, b.index] = [b.index, a.index]
    }
  }
}
