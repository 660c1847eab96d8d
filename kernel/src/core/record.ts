import type { PluginState } from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'
import { isSvcError } from '@svc/plugin-sdk'
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
  /** Last prepared code; null until it is needed. */
  code: PreparedCode | null = null
  unit: Unit | null = null
  running: RunningUnit | null = null
  /** Call statistics of all units of the plugin since the process started. */
  readonly stats = newCallStats()
  /** Reason for which the plugin does not run normally. */
  fault: string | null = null
  /** Reason for which the last change of the plugin was refused. The plugin continues unchanged. */
  refusal: string | null = null
  /** Last error of the plugin. */
  error: unknown = null
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

  /** State of the unit if there is one, else of the plugin. */
  get state(): PluginState {
    return this.unit?.state ?? this.lifecycle.state
  }

  get why(): string | null {
    return this.refusal === null ? this.fault : `last change refused: ${this.refusal}`
  }

  /** Hint of the error that `why` contains. */
  get hint(): string | null {
    return isSvcError(this.error) && this.why?.includes(this.error.message) === true ? (this.error.hint ?? null) : null
  }

  get quarantined(): boolean {
    return this.lifecycle.state === 'quarantined'
  }

  /** True if the plugin failed and waits for a retry, or is quarantined until the user enables it. */
  get failed(): boolean {
    return this.lifecycle.state === 'failed' || this.quarantined
  }

  /** Sets the state of a plugin that does not run, by way of `discovered`, which allows every transition. */
  setInactive(state: 'invalid' | 'disabled' | 'resolved' | 'waiting', why: string | null): void {
    this.fault = why
    if (this.lifecycle.state === state) return
    if (this.lifecycle.state !== 'discovered') this.lifecycle.to('discovered')
    this.lifecycle.to(state)
  }

  /** Counts a failure. Returns true if the limit for a quarantine is reached. */
  count(now = Date.now()): boolean {
    this.#failures = [...this.#failures.filter(at => at > now - FAILURE_WINDOW_MS), now]
    return this.#failures.length >= QUARANTINE_AFTER
  }

  /** Marks the plugin failed and counts the failure. Returns true if the plugin is now quarantined. */
  fail(why: string, now = Date.now()): boolean {
    if (this.lifecycle.state !== 'failed') {
      this.setInactive('resolved', why)
      this.lifecycle.to('loading')
      this.lifecycle.to('failed')
    }
    this.fault = why
    if (!this.count(now)) return false
    this.lifecycle.to('quarantined')
    this.fault = `${why} (${QUARANTINE_RULE}; run: svc plugins enable ${this.name})`
    return true
  }

  /** Ends the failed state: the plugin runs or may be retried. */
  recover(): void {
    this.cancelRetry()
    if (this.failed) this.lifecycle.to('discovered')
  }

  /** Resets the failure count after new code, changed settings or a request of the user. */
  clearFailures(): void {
    this.#failures = []
    this.recover()
  }

  get retrying(): boolean {
    return this.#retry !== undefined
  }

  /**
   * Schedules a retry and returns its delay in milliseconds. Exponential back-off from 1 s to 5 min; the delay is
   * random between half and all of it.
   */
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
