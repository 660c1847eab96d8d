import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import type { EndpointResponse } from './endpoint-runner.ts'
import { keepLookupConnection } from './lookup-connection.ts'
import type { LookupsOptions, RunLookup } from './lookup-runner.ts'
import { type PlainLookups, plainLookups } from './plain-lookups.ts'

/**
 * Time budget of a call in milliseconds. Overruns are accumulated, minus the unused budget of other calls; one call
 * adds a limited amount, since it may have waited for the processor.
 */
const QUICK_MS = 0.25
const MAX_SINGLE_MS = 10
/** At this debt, a query is sent to the pool for a while: its rows may be large, or the disk slow. */
const MAX_EXCESS_MS = 100
const ELSEWHERE_MS = 60_000

/** Delay of opening the database after the first query, and after a failure, in milliseconds. */
const OPEN_MS = 50
const REOPEN_MS = 10_000

/** null if the program has no lookups, or its database no connections for threads. */
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
 * Answers simple lookup queries in the calling thread, with a read-only connection that never waits: a request to
 * another thread takes longer than such a query. Other queries go to the pool; a query has no effects, so it can start
 * twice.
 *
 * 1. Nothing is loaded before the first lookup, and then with a delay: a reloaded program serves first. 2. `answer` is
 * null until then.
 * 3. After `close`, no lookup is answered here. The owner of the connection closes it.
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

  /** The answer to a query, by its index in the list of endpoints; null if it must go to the pool. */
  answer(endpoint: number, input: string): EndpointResponse | null {
    const query = this.#queries.get(endpoint)
    if (query === undefined) return null
    if (this.#run === null) {
      this.#prepare(OPEN_MS)
      return null
    }
    const started = performance.now()
    if (started < query.elsewhereUntil) return null
    const answer = this.#run(endpoint, input)
    query.took(started, performance.now() - started)
    return answer
  }

  /** Loads its dependencies, if necessary. Throws the errors of opening the database. */
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
        // The pool gets the same error, and reports it.
        this.#prepare(REOPEN_MS)
      }
    }, milliseconds).unref()
  }
}

/** Measured time of one query. */
class LookupQuery {
  elsewhereUntil = 0
  #excess = 0

  took(started: number, milliseconds: number): void {
    this.#excess = Math.max(0, this.#excess + Math.min(milliseconds, MAX_SINGLE_MS) - QUICK_MS)
    if (this.#excess < MAX_EXCESS_MS) return
    this.#excess = 0
    this.elsewhereUntil = started + ELSEWHERE_MS
  }
}
