/** Options of a child process, as JSON in `SVC_TEST_SCENARIO`. */
export interface Scenario {
  readonly database: string
  readonly apiBase: string
  readonly token: string
  /** Step at which the process kills itself; null: it ends when the job has ended. */
  readonly kill: Kill | null
}

/**
 * A step is a write to the database or a request. `before`: without its effect. `during`: after a part of its time, in
 * milliseconds. `after`: with its effect, before anything else happens.
 */
export interface Kill {
  readonly step: number
  readonly when: 'before' | 'during' | 'after'
  readonly ms: number
}

export const LOCK_TTL_MS = 400
export const SETTLE_SECONDS = 2
/** Shorter than the settle time, and longer than another process needs to take over: else a search would always succeed. */
export const INDEX_LAG_MS = 1_600
