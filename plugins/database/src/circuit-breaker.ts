import type {
  DatabaseCallOptions,
  DatabaseStore,
  DatabaseTransaction,
  DatabaseTransactionOptions,
  SqlParameters,
  SqlStatement
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { pluginErrors } from './errors.ts'

const MAX_FAILURES = 5
const OPEN_MS = 30_000

/** Codes of database faults, in contrast to errors of a statement. */
const FAULTS = new Set([
  'DBS_BUSY',
  'DBS_CORRUPT',
  'DBS_FILE_LOST',
  'DBS_FULL',
  'DBS_LOST',
  'DBS_OPEN_FAILED',
  'DBS_UNAUTHORIZED',
  'DBS_UNREACHABLE'
])

/**
 * Circuit breaker: rejects writes for 30 seconds after five faults in a row. Then one write probes the database: if it
 * succeeds, the breaker closes, otherwise it opens again. Reads always pass.
 */
export class CircuitBreaker {
  readonly #now: () => number
  #failures = 0
  #openedAt: number | null = null
  #probing = false

  /** `now`: a monotonic clock in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  async call<A>(run: () => Promise<A>): Promise<A> {
    const probe = this.#admit()
    try {
      const result = await run()
      this.#failures = 0
      this.#openedAt = null
      return result
    } catch (error) {
      if (isSvcError(error) && FAULTS.has(error.code)) this.#count(probe)
      // An error of the statement: the database itself works.
      else if (isSvcError(error)) this.#settle()
      throw error
    } finally {
      if (probe) this.#probing = false
    }
  }

  #admit(): boolean {
    if (this.#openedAt === null) return false
    const left = this.#openedAt + OPEN_MS - this.#now()
    if (left > 0 || this.#probing)
      throw pluginErrors.create(
        'DBP_CIRCUIT_OPEN',
        'circuit breaker is open: the database failed several times in a row',
        {
          data: { retryAfterMs: Math.max(Math.ceil(left), 0) },
          hint: 'svc db status shows the problem'
        }
      )
    this.#probing = true
    return true
  }

  #count(probe: boolean): void {
    this.#failures += 1
    if (probe || this.#failures >= MAX_FAILURES) this.#openedAt = this.#now()
  }

  #settle(): void {
    this.#failures = 0
    this.#openedAt = null
  }
}

/** Returns a store whose writes pass the breaker. */
export function withBreaker(store: DatabaseStore, breaker: CircuitBreaker): DatabaseStore {
  return {
    mode: store.mode,
    location: store.location,
    capabilities: () => store.capabilities(),
    query: (sql: string, parameters?: SqlParameters, options?: DatabaseCallOptions) =>
      store.query(sql, parameters, options),
    execute: (sql: string, parameters?: SqlParameters, options?: DatabaseCallOptions) =>
      breaker.call(() => store.execute(sql, parameters, options)),
    batch: (statements: readonly SqlStatement[], options?: DatabaseCallOptions) =>
      breaker.call(() => store.batch(statements, options)),
    transaction: <A>(run: (tx: DatabaseTransaction) => Promise<A>, options?: DatabaseTransactionOptions) =>
      breaker.call(() => store.transaction(run, options)),
    migrate: (sql: string, options?: DatabaseCallOptions) => breaker.call(() => store.migrate(sql, options)),
    sync: () => store.sync(),
    backup: (file: string) => store.backup(file),
    threadAccess: () => store.threadAccess(),
    close: () => store.close()
  }
}
