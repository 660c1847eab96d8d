import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import type { Answer } from './endpoint-runner.ts'
import { keepLookupConnection } from './lookup-connection.ts'
import type { LookupsOptions, RunLookup } from './lookup-runner.ts'
import { type PlainLookups, plainLookups } from './plain-lookups.ts'

/**
 * Milliseconds that a call may take. What it takes beyond is remembered, less what other calls left; of one call only so much,
 * since it may have waited for the processor.
 */
const QUICK_MS = 0.25
const MAX_SINGLE_MS = 10
/** When so much is remembered of a query, it is asked of the pool for a while: its rows may be large, or the disk slow. */
const MAX_EXCESS_MS = 100
const ELSEWHERE_MS = 60_000

/** Milliseconds after the first query, and after a failure, at which the database is opened. */
const OPEN_MS = 50
const REOPEN_MS = 10_000

/** null where the program has no lookups, or its database no connections for threads. */
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
 * Answers queries that are plain lookups in the thread that asks, with a connection that only reads and does not wait: to ask
 * another thread takes longer than such a query itself. What is not answered here, for whatever reason, is asked of the pool;
 * a query has no effects, so that it can be begun twice.
 *
 * 1. Nothing is loaded before the first lookup, and some milliseconds after that: a program that has just been
 *    reloaded serves first.
 * 2. `answer` is null until then.
 * 3. After `close` nothing is answered. The owner of the connection closes it.
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

  /** The answer to a query, by its place in the list of endpoints; null for what is to be asked of the pool. */
  answer(endpoint: number, input: string): Answer | null {
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

  /** Loads what it needs, where that has not happened. Throws what opening the database throws. */
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
        // The pool meets the same error, and reports it.
        this.#prepare(REOPEN_MS)
      }
    }, milliseconds).unref()
  }
}

/** How long one query takes. */
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
