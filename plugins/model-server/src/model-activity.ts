import type { GenerateUsage, ModelCapacity } from '@svc/contracts'
import type { CompletionRecord } from './metrics.ts'
import { type Percentiles, RecentValues } from './recent-values.ts'

/** Number of points in a history, one per second. */
export const HISTORY_SECONDS = 60

/** Load of the model within one second. */
export interface ActivityPoint {
  /** Start of the second, Unix milliseconds. */
  readonly at: number
  readonly tokens: number
  readonly promptTokens: number
  /** Maximum number of answers that were generated concurrently. */
  readonly running: number
  /** Maximum number of requests that waited for a slot. */
  readonly queue: number
}

/** Counters of one adapter, since the process started. */
export interface ActivityTotals {
  readonly requests: number
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly completionTokens: number
  /** Ended completions by outcome; see {@link CompletionRecord.end}. */
  readonly outcomes: Readonly<Record<string, number>>
}

/** Durations of recent completions in milliseconds; undefined before the first. */
export interface ActivityDurations {
  /** From the request to the first text. */
  readonly firstToken: Percentiles | undefined
  readonly queue: Percentiles | undefined
  /** Reading the prompt. */
  readonly prefill: Percentiles | undefined
  /** Generating one token. */
  readonly decode: Percentiles | undefined
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type Second = Mutable<ActivityPoint>
type Totals = Mutable<ActivityTotals> & { readonly outcomes: Record<string, number> }

/** Recent load and counters of one model. Survives reloads of the plugin, so it holds no timer and no callback. */
export class ModelActivity {
  readonly #seconds: (Second | undefined)[] = new Array(HISTORY_SECONDS).fill(undefined)
  readonly #totals = new Map<string, Totals>()
  readonly #firstToken = new RecentValues()
  readonly #queue = new RecentValues()
  readonly #prefill = new RecentValues()
  readonly #decode = new RecentValues()

  begin(adapter: string): CompletionRecord {
    const totals = this.#totalsOf(adapter)
    totals.requests += 1
    const began = performance.now()
    let hasText = false
    let ended = false
    return {
      text: tokens => {
        if (!hasText) this.#firstToken.add(performance.now() - began)
        hasText = true
        totals.completionTokens += tokens
        this.#second().tokens += tokens
      },
      usage: usage => this.#addUsage(totals, usage),
      end: outcome => {
        if (ended) return
        ended = true
        totals.outcomes[outcome] = (totals.outcomes[outcome] ?? 0) + 1
      }
    }
  }

  /** Records how many answers run and wait now. */
  sample({ active, waiting }: Pick<ModelCapacity, 'active' | 'waiting'>): void {
    const second = this.#second()
    second.running = Math.max(second.running, active)
    second.queue = Math.max(second.queue, waiting)
  }

  /** Returns the last {@link HISTORY_SECONDS} seconds, oldest first. */
  history(): readonly ActivityPoint[] {
    const now = secondOf(Date.now())
    return Array.from({ length: HISTORY_SECONDS }, (_, index) => {
      const at = (now - HISTORY_SECONDS + 1 + index) * 1000
      const second = this.#seconds[(at / 1000) % HISTORY_SECONDS]
      return second?.at === at ? { ...second } : { at, tokens: 0, promptTokens: 0, running: 0, queue: 0 }
    })
  }

  /** Returns the mean rates of the last two to three seconds, in tokens per second. */
  rates(): { readonly tokens: number; readonly promptTokens: number } {
    const now = Date.now()
    const recent = this.history().slice(-RATE_SECONDS)
    const seconds = RATE_SECONDS - 1 + (now % 1000) / 1000
    const rate = (field: 'tokens' | 'promptTokens') => recent.reduce((sum, point) => sum + point[field], 0) / seconds
    return { tokens: rate('tokens'), promptTokens: rate('promptTokens') }
  }

  /** Returns the counters by adapter: `none`, `merged` or an adapter's name. */
  totals(): ReadonlyMap<string, ActivityTotals> {
    return this.#totals
  }

  durations(): ActivityDurations {
    return {
      firstToken: this.#firstToken.percentiles(),
      queue: this.#queue.percentiles(),
      prefill: this.#prefill.percentiles(),
      decode: this.#decode.percentiles()
    }
  }

  #addUsage(totals: Totals, usage: GenerateUsage): void {
    const { promptTokens, cachedTokens, completionTokens, queueNs, promptNs, completionNs } = usage
    totals.promptTokens += promptTokens
    totals.cachedTokens += cachedTokens
    this.#second().promptTokens += promptTokens - cachedTokens
    this.#queue.add(queueNs / 1e6)
    if (promptTokens > cachedTokens) this.#prefill.add(promptNs / 1e6)
    if (completionTokens > 0) this.#decode.add(completionNs / 1e6 / completionTokens)
  }

  #totalsOf(adapter: string): Totals {
    const found = this.#totals.get(adapter)
    if (found !== undefined) return found
    const totals = { requests: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, outcomes: {} }
    this.#totals.set(adapter, totals)
    return totals
  }

  #second(): Second {
    const second = secondOf(Date.now())
    const index = second % HISTORY_SECONDS
    const at = second * 1000
    const current = this.#seconds[index]
    if (current?.at === at) return current
    return (this.#seconds[index] = { at, tokens: 0, promptTokens: 0, running: 0, queue: 0 })
  }
}

const RATE_SECONDS = 3

function secondOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000)
}
