import { AsyncLocalStorage } from 'node:async_hooks'
import type { SpanParent } from '@svc/contracts'
import { type LocalSpan, spanIdOf } from '@svc/plugin-sdk'

/** Milliseconds after the last recorded call in which the storage stays enabled, so that a busy server rarely toggles it. */
const IDLE_MS = 1_000

export interface RecordingOptions {
  /** Part of the new traces whose details are recorded, from 0 to 1. */
  readonly sample: number
  /** Whether a person looks at traces now. */
  isWatched(): boolean
}

/**
 * Knows the recorded call that runs now. Uses AsyncLocalStorage only while calls are recorded: before Node 24 a storage
 * in use makes every promise of the process slower.
 */
export class Recording {
  readonly #options: RecordingOptions
  readonly #storage = new AsyncLocalStorage<SpanParent>()
  /** Span ids of recorded calls that still run. */
  readonly #open = new Set<string>()
  #idle: NodeJS.Timeout | null = null

  constructor(options: RecordingOptions) {
    this.#options = options
  }

  sample(): boolean {
    const { sample, isWatched } = this.#options
    return (sample > 0 && (sample >= 1 || Math.random() < sample)) || isWatched()
  }

  within<A>({ traceId, spanId, requestId }: SpanParent, run: () => A): A {
    this.#open.add(spanId)
    if (this.#idle !== null) clearTimeout(this.#idle)
    this.#idle = null
    // A copy: sockets and timers that are opened inside keep it, and must not keep the call and its plugin.
    return this.#storage.run({ traceId, spanId, sampled: true, requestId }, run)
  }

  /** Returns the call that runs now; undefined if it has ended, as for a timer that it left. */
  current(): SpanParent | undefined {
    if (this.#open.size === 0) return undefined
    const parent = this.#storage.getStore()
    return parent !== undefined && this.#open.has(parent.spanId) ? parent : undefined
  }

  ended(span: Pick<LocalSpan, 'spanNumber'>): void {
    // The id is only formatted while calls are recorded.
    if (this.#open.size === 0 || !this.#open.delete(spanIdOf(span.spanNumber)) || this.#open.size > 0) return
    this.#idle = setTimeout(() => this.#storage.disable(), IDLE_MS)
    this.#idle.unref()
  }

  close(): void {
    if (this.#idle !== null) clearTimeout(this.#idle)
    this.#open.clear()
    this.#storage.disable()
  }
}
