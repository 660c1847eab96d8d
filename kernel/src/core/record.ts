import type { PluginState } from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'
import { Lifecycle } from './lifecycle.ts'
import type { RunningUnit } from './plan.ts'
import type { PluginSource, PreparedCode } from './plugin-source.ts'
import { newCallStats, type Unit } from './unit.ts'

const QUARANTINE_AFTER = 5
const FAILURE_WINDOW_MS = 10 * 60_000
export const QUARANTINE_RULE = `${QUARANTINE_AFTER} failures in ${FAILURE_WINDOW_MS / 60_000} minutes`
const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 5 * 60_000

/** State of one plugin, whether it runs or not. */
export class PluginRecord {
  source: PluginSource
  /** Code as last prepared; null until it is needed. */
  code: PreparedCode | null = null
  unit: Unit | null = null
  running: RunningUnit | null = null
  /** Of all its units since the start of the process. */
  readonly stats = newCallStats()
  /** Why it does not run normally. */
  fault: string | null = null
  /** Why the last change of the plugin was refused; the plugin continues unchanged. */
  refusal: string | null = null
  readonly lifecycle: Lifecycle
  #failures: number[] = []
  #retry: NodeJS.Timeout | undefined

  constructor(source: PluginSource, onState?: (state: PluginState) => void) {
    this.source = source
    this.lifecycle = new Lifecycle(`plugin ${source.name}`, 'discovered', onState)
  }

  get name(): string {
    return this.source.name
  }

  get manifest(): PluginManifest | null {
    return this.code?.manifest ?? this.source.manifest
  }

  /** The unit's state while there is one. */
  get state(): PluginState {
    return this.unit?.state ?? this.lifecycle.state
  }

  get why(): string | null {
    return this.refusal === null ? this.fault : `last change refused: ${this.refusal}`
  }

  get quarantined(): boolean {
    return this.lifecycle.state === 'quarantined'
  }

  /** Whether it failed and waits for a retry, or for a person. */
  get failed(): boolean {
    return this.lifecycle.state === 'failed' || this.quarantined
  }

  /**
   * Puts a plugin that does not run into a resting state; passes through `discovered`, which allows every transition.
   */
  rest(state: 'invalid' | 'disabled' | 'resolved' | 'waiting', why: string | null): void {
    this.fault = why
    if (this.lifecycle.state === state) return
    if (this.lifecycle.state !== 'discovered') this.lifecycle.to('discovered')
    this.lifecycle.to(state)
  }

  /** Counts a failure. True if the limit is exceeded. */
  count(now = Date.now()): boolean {
    this.#failures = [...this.#failures.filter(at => at > now - FAILURE_WINDOW_MS), now]
    return this.#failures.length >= QUARANTINE_AFTER
  }

  /** Counts a failure. True if the plugin is now quarantined. */
  fail(why: string, now = Date.now()): boolean {
    if (this.lifecycle.state !== 'failed') {
      this.rest('resolved', why)
      this.lifecycle.to('loading')
      this.lifecycle.to('failed')
    }
    this.fault = why
    if (!this.count(now)) return false
    this.lifecycle.to('quarantined')
    this.fault = `${why} (${QUARANTINE_RULE}; run: svc plugins enable ${this.name})`
    return true
  }

  /** It runs, or may be retried. */
  recover(): void {
    this.cancelRetry()
    if (this.failed) this.lifecycle.to('discovered')
  }

  /** Clears failures after new code, a changed setting, or a request of a person. */
  forgive(): void {
    this.#failures = []
    this.recover()
  }

  get retrying(): boolean {
    return this.#retry !== undefined
  }

  /** Exponential back-off from 1 s to 5 min with full jitter on the upper half. */
  scheduleRetry(run: () => void, random = Math.random): number {
    this.cancelRetry()
    const ceiling = Math.min(FIRST_RETRY_MS * 2 ** Math.max(this.#failures.length - 1, 0), LAST_RETRY_MS)
    const delay = Math.round(ceiling / 2 + (random() * ceiling) / 2)
    this.#retry = setTimeout(() => {
      this.#retry = undefined
      run()
    }, delay)
    this.#retry.unref()
    return delay
  }

  cancelRetry(): void {
    clearTimeout(this.#retry)
    this.#retry = undefined
  }
}
