import type { Program, SqlParameters, SqlResult, SqlValue, ThreadAccess, ThreadConnection } from '@svc/contracts'
import { connectThread, type DatabaseAccess } from '../database/access.ts'
import { ProgramDatabase } from '../database/program-database.ts'
import type { Host } from '../interpreter/host.ts'
import { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { WireTypes } from '../wire/wire-types.ts'
import { type Answer, EndpointRunner, type InTransaction, type Turn } from './endpoint-runner.ts'
import type { Endpoint } from './endpoints.ts'
import { type PlainLookups, plainLookups } from './plain-lookups.ts'

/** What one of them may take; whatever takes more is asked of the pool, which has the limits of the program. */
const STEPS = 2_000
const BYTES = 2 ** 20
const DEPTH = 32

/**
 * Milliseconds that a call may take. What it takes beyond is remembered, less what other calls left; of one call only so much,
 * since it may have waited for the processor.
 */
const QUICK_MS = 0.25
const MOST_OF_ONE_MS = 10
/** When so much is remembered of a query, it is asked of the pool for a while: its rows may be large, or the disk slow. */
const MOST_EXCESS_MS = 100
const ELSEWHERE_MS = 60_000

/** Milliseconds after the first query, and after a failure, at which the database is opened. */
const OPEN_MS = 50
const REOPEN_MS = 10_000

export interface LookupsOptions {
  readonly program: Program
  readonly endpoints: readonly Endpoint[]
  readonly access: DatabaseAccess
  /** Of the program. */
  readonly limits: Limits
}

/**
 * Answers queries that are plain lookups in the thread that asks, with a connection that only reads and does not wait: to ask
 * another thread takes longer than such a query itself. What is not answered here, for whatever reason, is asked of the pool;
 * a query has no effects, so that it can be begun twice.
 *
 * 1. Nothing is loaded before one is asked for the first time, and some milliseconds after that: a program that has just been
 *    reloaded serves first.
 * 2. `answer` is null until then.
 * 3. `close` ends the connection.
 */
export class Lookups {
  readonly #options: LookupsOptions
  readonly #lookups: PlainLookups
  readonly #queries: ReadonlyMap<number, LookupQuery>
  #loaded: LoadedLookups | null = null
  #opening: NodeJS.Timeout | null = null
  #isClosed = false

  private constructor(options: LookupsOptions, lookups: PlainLookups) {
    this.#options = options
    this.#lookups = lookups
    this.#queries = new Map(
      options.endpoints.flatMap(({ kind, name }, index) => {
        return kind === 'query' && lookups.queries.has(name) ? [[index, new LookupQuery()] as const] : []
      })
    )
  }

  /** null where there is none, or where threads have no connections of their own. */
  static of({
    access,
    ...options
  }: Omit<LookupsOptions, 'access'> & { readonly access: DatabaseAccess | null }): Lookups | null {
    if (access === null || access.thread === null) return null
    const lookups = plainLookups(options.program)
    return lookups.queries.size === 0 ? null : new Lookups({ ...options, access }, lookups)
  }

  /** The answer to a query, by its place in the list of endpoints; null for what is to be asked of the pool. */
  answer(endpoint: number, input: string): Answer | null {
    const query = this.#queries.get(endpoint)
    if (query === undefined) return null
    if (this.#loaded === null) {
      this.#prepare(OPEN_MS)
      return null
    }
    const started = performance.now()
    if (started < query.elsewhereUntil) return null
    const answer = this.#loaded.run(endpoint, input)
    query.took(started, performance.now() - started)
    return answer
  }

  /** Loads what it needs, where that has not happened. Throws what opening the database throws. */
  open(): void {
    if (this.#isClosed || this.#loaded !== null) return
    this.#loaded = new LoadedLookups(this.#options, this.#lookups)
  }

  close(): void {
    this.#isClosed = true
    if (this.#opening !== null) clearTimeout(this.#opening)
    this.#loaded?.close()
    this.#loaded = null
  }

  #prepare(milliseconds: number): void {
    if (this.#opening !== null || this.#isClosed) return
    this.#opening = setTimeout(() => {
      this.#opening = null
      try {
        this.open()
      } catch {
        // The pool meets the same, and tells it.
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
    this.#excess = Math.max(0, this.#excess + Math.min(milliseconds, MOST_OF_ONE_MS) - QUICK_MS)
    if (this.#excess < MOST_EXCESS_MS) return
    this.#excess = 0
    this.elsewhereUntil = started + ELSEWHERE_MS
  }
}

/** The queries, compiled, and their connection. */
class LoadedLookups {
  readonly #connection: WatchedConnection
  readonly #runners: ReadonlyMap<number, EndpointRunner>
  readonly #turn: Turn = { running: () => undefined, committing: () => undefined, committed: () => undefined }

  constructor(options: LookupsOptions, lookups: PlainLookups) {
    this.#connection = new WatchedConnection(connectThread(options.access.thread as ThreadAccess, 0))
    try {
      this.#runners = runnersOf(options, lookups, this.#connection)
    } catch (error) {
      this.#connection.close()
      throw error
    }
  }

  run(endpoint: number, input: string): Answer | null {
    this.#connection.hasFailed = false
    const answer = this.#runners.get(endpoint)?.run(input, this.#turn) ?? null
    // A program may take what the database refuses for a value, and answer with that.
    return answer?.failure === null && !this.#connection.hasFailed ? answer : null
  }

  close(): void {
    this.#connection.close()
  }
}

function runnersOf(
  { endpoints, access, limits }: LookupsOptions,
  { queries, program }: PlainLookups,
  connection: ThreadConnection
): Map<number, EndpointRunner> {
  const { location, capabilities } = access
  const database = new ProgramDatabase({ connection, location, capabilities })
  const interpreter = new Interpreter(program, { ...NOWHERE, database })
  const types = new WireTypes(program.module, { defaults: program.defaults, evaluate: withoutExpressions })
  const least: Limits = {
    steps: Math.min(STEPS, limits.steps),
    milliseconds: limits.milliseconds,
    bytes: Math.min(BYTES, limits.bytes),
    depth: Math.min(DEPTH, limits.depth)
  }
  // One statement sees one state of the database by itself.
  const alone: InTransaction = (_, work) => work()
  const together: InTransaction = (kind, work, keeps) => database.transaction(kind, work, keeps)
  const runners = new Map<number, EndpointRunner>()
  for (const [index, endpoint] of endpoints.entries()) {
    const statements = endpoint.kind === 'query' ? queries.get(endpoint.name) : undefined
    if (statements === undefined) continue
    const inTransaction = statements === 1 ? alone : together
    runners.set(index, new EndpointRunner(endpoint, interpreter, types, least, inTransaction))
  }
  return runners
}

/** Lookups reach nothing but the database. */
const NOWHERE: Omit<Host, 'database'> = {
  print: () => undefined,
  log: () => undefined,
  now: Date.now,
  random: Math.random,
  args: [],
  capabilities: new Set(),
  sleep: () => undefined,
  bridge: null,
  ending: null
}

function withoutExpressions(): never {
  throw new Error('a lookup evaluates nothing outside of functions')
}

/** A connection that reads, and remembers whether that failed. */
class WatchedConnection implements ThreadConnection {
  hasFailed = false
  readonly #connection: ThreadConnection

  constructor(connection: ThreadConnection) {
    this.#connection = connection
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction
  }

  query(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#watched(() => this.#connection.query(sql, parameters))
  }

  rows(sql: string, parameters?: SqlParameters): readonly (readonly SqlValue[])[] {
    return this.#watched(() => this.#connection.rows(sql, parameters))
  }

  row(sql: string, parameters?: SqlParameters): readonly SqlValue[] | null {
    return this.#watched(() => this.#connection.row(sql, parameters))
  }

  execute(sql: string, parameters?: SqlParameters): SqlResult {
    return this.#watched(() => this.#connection.execute(sql, parameters))
  }

  begin(kind: 'read' | 'write'): void {
    this.#watched(() => this.#connection.begin(kind))
  }

  commit(): void {
    this.#watched(() => this.#connection.commit())
  }

  rollback(): void {
    this.#watched(() => this.#connection.rollback())
  }

  sync(): void {
    this.#watched(() => this.#connection.sync())
  }

  close(): void {
    this.#connection.close()
  }

  #watched<A>(run: () => A): A {
    try {
      return run()
    } catch (error) {
      this.hasFailed = true
      throw error
    }
  }
}
