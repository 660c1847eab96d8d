import type { Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import { ProgramDatabase } from '../database/program-database.ts'
import type { Host } from '../interpreter/host.ts'
import { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { WireTypes } from '../wire/wire-types.ts'
import { type Answer, EndpointRunner, type InTransaction, type Turn } from './endpoint-runner.ts'
import type { Endpoint } from './endpoints.ts'
import { keepLookupConnection, type LookupConnection } from './lookup-connection.ts'
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
  /** To that database. */
  readonly connection: LookupConnection
  /** Of the program. */
  readonly limits: Limits
}

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
 * 1. Nothing is loaded before one is asked for the first time, and some milliseconds after that: a program that has just been
 *    reloaded serves first.
 * 2. `answer` is null until then.
 * 3. Behind `close` nothing is answered. The connection is ended by whoever has opened it.
 */
export class Lookups {
  readonly #options: LookupsOptions
  readonly #lookups: PlainLookups
  readonly #queries: ReadonlyMap<number, LookupQuery>
  #loaded: LoadedLookups | null = null
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

/** The queries, compiled. */
class LoadedLookups {
  readonly #connection: LookupConnection
  readonly #runners: ReadonlyMap<number, EndpointRunner>
  readonly #turn: Turn = { running: () => undefined, committing: () => undefined, committed: () => undefined }

  constructor(options: LookupsOptions, lookups: PlainLookups) {
    this.#connection = options.connection
    this.#connection.open()
    this.#runners = runnersOf(options, lookups)
  }

  run(endpoint: number, input: string): Answer | null {
    this.#connection.hasFailed = false
    const answer = this.#runners.get(endpoint)?.run(input, this.#turn) ?? null
    // A program may take what the database refuses for a value, and answer with that.
    return answer?.failure === null && !this.#connection.hasFailed ? answer : null
  }
}

function runnersOf(
  { endpoints, access, connection, limits }: LookupsOptions,
  { queries, program }: PlainLookups
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
