import { closedError } from '../adapters/hot-adapters.ts'
import type { EncodedText } from './encoder-tokens.ts'

/** Maximum tokens of a run, padding included, unless a single text is longer. */
const MAX_TOKENS = 2_048
/** Maximum share of padding in a run. */
const MAX_PADDING = 0.2

/** Computes one batch. Texts are sorted by length, longest first; returns a row for each, in order. */
export type RunBatch = (texts: readonly EncodedText[]) => Promise<readonly Float32Array[]>

interface Waiting {
  readonly text: EncodedText
  readonly number: number
  readonly signal: AbortSignal | undefined
  resolve(row: Float32Array): void
  reject(reason: unknown): void
}

/**
 * Collects texts of all callers into batches of similar length, and runs one batch after the other. Each batch contains
 * the text that has waited longest, so every text is computed.
 */
export class Batches {
  readonly #run: RunBatch
  /** Waiting texts, longest first. */
  #waiting: Waiting[] = []
  #unsorted = false
  #next = 0
  #running: Promise<void> | null = null
  #closed = false

  constructor(run: RunBatch) {
    this.#run = run
  }

  /**
   * Returns a row for each text. If the signal is aborted, drops texts that wait, and rejects with its reason; rejects
   * with `INF_MODEL_CLOSED` after {@link close}.
   */
  async compute(texts: readonly EncodedText[], signal?: AbortSignal): Promise<readonly Float32Array[]> {
    signal?.throwIfAborted()
    if (this.#closed) throw closedError()
    const rows = texts.map(
      text =>
        new Promise<Float32Array>((resolve, reject) => {
          this.#waiting.push({ text, number: this.#next++, signal, resolve, reject })
        })
    )
    this.#unsorted = true
    this.#running ??= this.#runAll()
    const drop = () => this.#drop(each => each.signal === signal, signal?.reason)
    signal?.addEventListener('abort', drop, { once: true })
    try {
      return await Promise.all(rows)
    } finally {
      signal?.removeEventListener('abort', drop)
    }
  }

  /** Rejects waiting texts, and resolves when the current run has ended. */
  async close(): Promise<void> {
    this.#closed = true
    this.#drop(() => true, closedError())
    await this.#running
  }

  #drop(matches: (each: Waiting) => boolean, reason: unknown): void {
    const dropped = this.#waiting.filter(matches)
    this.#waiting = this.#waiting.filter(each => !matches(each))
    for (const each of dropped) each.reject(reason)
  }

  async #runAll(): Promise<void> {
    // Callers of the same turn share the first batch.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      if (this.#unsorted)
        this.#waiting.sort((a, b) => b.text.tokens.length - a.text.tokens.length || a.number - b.number)
      this.#unsorted = false
      const { start, count } = chooseBatch(
        this.#waiting.map(({ text, number }) => ({ length: text.tokens.length, number }))
      )
      const batch = this.#waiting.splice(start, count)
      try {
        const rows = await this.#run(batch.map(({ text }) => text))
        for (const [index, each] of batch.entries()) each.resolve(rows[index] as Float32Array)
      } catch (error) {
        for (const each of batch) each.reject(error)
      }
    }
    this.#running = null
  }
}

/**
 * Chooses texts of similar length around the one that has waited longest. `texts`: sorted by length, longest first;
 * `number`: order of arrival.
 */
export function chooseBatch(texts: readonly { readonly length: number; readonly number: number }[]): {
  readonly start: number
  readonly count: number
} {
  let oldest = 0
  for (let at = 1; at < texts.length; at++) {
    if ((texts[at]?.number ?? 0) < (texts[oldest]?.number ?? 0)) oldest = at
  }
  let [start, end] = [oldest, oldest + 1]
  let sum = texts[oldest]?.length ?? 0
  const fits = (from: number, to: number, total: number): boolean => {
    const size = (texts[from]?.length ?? 0) * (to - from)
    return size <= MAX_TOKENS && size - total <= size * MAX_PADDING
  }
  for (let grown = true; grown; ) {
    grown = false
    const shorter = texts[end]?.length
    if (shorter !== undefined && fits(start, end + 1, sum + shorter)) {
      sum += shorter
      end++
      grown = true
    }
    const longer = texts[start - 1]?.length
    if (longer !== undefined && fits(start - 1, end, sum + longer)) {
      sum += longer
      start--
      grown = true
    }
  }
  return { start, count: end - start }
}
