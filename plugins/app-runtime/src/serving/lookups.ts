import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import type { LoggedStatement } from '../database/sql-log.ts'
import type { EndpointResponse } from './endpoint-runner.ts'
import { keepLookupConnection } from './lookup-connection.ts'
import type { LookupsOptions, RunLookup } from './lookup-runner.ts'
import { type PlainLookups, plainLookups } from './plain-lookups.ts'

/**
 * Time budget of a call in milliseconds. A slower call adds the number of budgets that it took to the score of its query,
 * at most `MAX_SINGLE_SCORE`, because it may have waited for a CPU. A quick call subtracts 1.
 */
const QUICK_MS = 0.25
const MAX_SINGLE_SCORE = 8
/** At this score, a query goes to the pool: its rows may be large, or the disk slow. */
const MAX_SCORE = 400
/**
 * Time in the pool. It is short at first, because code that is not optimised yet and a busy machine make calls slow, too.
 * It doubles each time that the query is slow again within the time for which it was in the pool.
 */
const MIN_ELSEWHERE_MS = 500
const MAX_ELSEWHERE_MS = 60_000

/** Delay in milliseconds before the database is opened, after the first query and after a failure. */
const OPEN_MS = 50
const REOPEN_MS = 10_000

/** Returns the lookups of a program; null if it has none, or threads cannot connect to its database. */
export async function openLookups(
  ctx: Pick<PluginContext, 'keep' | 'effect'>,
  { access, ...options }: Omit<LookupsOptions, 'access' | 'connection'> & { readonly access: DatabaseAccess | null }
): Promise<Lookups | null> {
  const plain = plainLookups(options.program)
  if (access === null || plain.queries.size === 0) return null
  const connection = await keepLookupConnection(ctx, access)
  if (connection === null) return null
  const lookups = new Lookups({ ...options, access, connection }, plain)
  ctx.effect(`lookups of ${options.program.path}`, () => lookups.close())
  return lookups
}

/**
 * Runs simple lookup queries in the calling thread, with a read-only connection that never waits. A request to
 * another thread would take longer than the query. A query without a result here runs in the pool, which is safe
 * because queries have no effects.
 *
 * The database is opened some time after the first lookup, so that it does not delay a reload. Until then, and after
 * `close`, `answer` returns null. The owner of the connection closes it.
 */
export class Lookups {
  readonly #options: LookupsOptions
  readonly #lookups: PlainLookups
  readonly #queries: ReadonlyMap<number, LookupQuery>
  #run: RunLookup | null = null
  #opening: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(options: LookupsOptions, lookups = plainLookups(options.program)) {
    this.#options = options
    this.#lookups = lookups
    this.#queries = new Map(
      options.endpoints.flatMap(({ kind, name }, index) => {
        return kind === 'query' && lookups.queries.has(name) ? [[index, new LookupQuery()] as const] : []
      })
    )
  }

  /** Runs a query by its index in the list of endpoints. Returns null if it must go to the pool. */
  answer(endpoint: number, input: string, caller: string): EndpointResponse | null {
    const query = this.#queries.get(endpoint)
    if (query === undefined) return null
    if (this.#run === null) {
      this.#prepare(OPEN_MS)
      return null
    }
    const started = performance.now()
    if (started < query.elsewhereUntil) return null
    const answer = this.#run(endpoint, input, caller, started)
    query.took(started, performance.now() - started)
    return answer
  }

  /** Returns the statements of the last lookup. */
  lastStatements(): LoggedStatement[] {
    return this.#options.connection.log.read()
  }

  /** Returns the number of SQL statements of a query; null if it is not a lookup. */
  statements(endpoint: number): number | null {
    const name = this.#options.endpoints[endpoint]?.name
    return name === undefined ? null : (this.#lookups.queries.get(name) ?? null)
  }

  /** Opens the database and compiles the queries, if needed. Throws the errors of opening the database. */
  open(): void {
    if (this.#isClosed || this.#run !== null) return
    this.#options.connection.open()
    this.#run = this.#options.connection.runner.lookupRunner(this.#options, this.#lookups)
  }

  close(): void {
    this.#isClosed = true
    if (this.#opening !== null) clearTimeout(this.#opening)
    this.#run = null
  }

  #prepare(milliseconds: number): void {
    if (this.#opening !== null || this.#isClosed) return
    this.#opening = setTimeout(() => {
      this.#opening = null
      try {
        this.open()
      } catch {
        // Not reported here: a call in the pool fails with the same error.
        this.#prepare(REOPEN_MS)
      }
    }, milliseconds).unref()
  }
}

/** Time measurements of one query. */
class LookupQuery {
  elsewhereUntil = 0
  #elsewhereMs = MIN_ELSEWHERE_MS
  #score = 0

  took(started: number, milliseconds: number): void {
    if (milliseconds <= QUICK_MS) {
      if (this.#score > 0) this.#score--
      return
    }
    this.#score += Math.min(milliseconds / QUICK_MS, MAX_SINGLE_SCORE)
    if (this.#score < MAX_SCORE) return
    this.#score = 0
    const isAgain = this.elsewhereUntil > 0 && started - this.elsewhereUntil < this.#elsewhereMs
    this.#elsewhereMs = isAgain ? Math.min(2 * this.#elsewhereMs, MAX_ELSEWHERE_MS) : MIN_ELSEWHERE_MS
    this.elsewhereUntil = started + this.#elsewhereMs
  }
}
