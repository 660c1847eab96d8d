/** Runs lookups. A separate script, so that a reload of the plugin need not evaluate the interpreter again. */
import type { Program } from '@svc/contracts'
import type { DatabaseAccess } from '../database/access.ts'
import { ProgramDatabase } from '../database/program-database.ts'
import type { Host } from '../interpreter/host.ts'
import { Interpreter } from '../interpreter/interpreter.ts'
import type { Limits } from '../interpreter/machine.ts'
import { WireTypes } from '../wire/wire-types.ts'
import { type EndpointResponse, EndpointRunner, type InTransaction, type Turn } from './endpoint-runner.ts'
import type { Endpoint } from './endpoints.ts'
import type { LookupConnection } from './lookup-connection.ts'
import type { PlainLookups } from './plain-lookups.ts'

/** Limits of one lookup. Heavier ones go to the pool, which applies the limits of the program. */
const STEPS = 2_000
const BYTES = 2 ** 20
const DEPTH = 32

export interface LookupsOptions {
  readonly program: Program
  readonly endpoints: readonly Endpoint[]
  readonly access: DatabaseAccess
  /** Connection to the database of `access`. */
  readonly connection: LookupConnection
  /** Limits of the program. */
  readonly limits: Limits
}

/**
 * Runs a query by its index in the list of endpoints. Returns null if it must go to the pool. `started`: in milliseconds of
 * `performance.now()`.
 */
export type RunLookup = (endpoint: number, input: string, caller: string, started: number) => EndpointResponse | null

/** Compiles the lookup queries. */
export function lookupRunner(options: LookupsOptions, lookups: PlainLookups): RunLookup {
  const { connection } = options
  const runners = runnersOf(options, lookups)
  const turn: Turn = { running: () => undefined, committing: () => undefined, committed: () => undefined }
  return (endpoint, input, caller, started) => {
    connection.hasFailed = false
    connection.log.begin(started)
    const answer = runners.get(endpoint)?.run(input, turn, caller) ?? null
    // A program may handle a database failure and return normally, so `hasFailed` is checked, too.
    return answer?.failure === null && !connection.hasFailed ? answer : null
  }
}

function runnersOf(
  { endpoints, access, connection, limits }: LookupsOptions,
  { queries, program }: PlainLookups
): Map<number, EndpointRunner> {
  const { location, capabilities } = access
  const database = new ProgramDatabase({ connection, location, capabilities, log: connection.log })
  const interpreter = new Interpreter(program, { ...NOWHERE, database })
  const types = new WireTypes(program.module, { defaults: program.defaults, evaluate: withoutExpressions })
  const lookupLimits: Limits = {
    steps: Math.min(STEPS, limits.steps),
    milliseconds: limits.milliseconds,
    bytes: Math.min(BYTES, limits.bytes),
    depth: Math.min(DEPTH, limits.depth)
  }
  // A single statement sees one snapshot without a transaction.
  const withoutTransaction: InTransaction = (_, work) => work()
  const inTransactionOf: InTransaction = (kind, work, keeps) => database.transaction(kind, work, keeps)
  const runners = new Map<number, EndpointRunner>()
  for (const [index, endpoint] of endpoints.entries()) {
    const statements = endpoint.kind === 'query' ? queries.get(endpoint.name) : undefined
    if (statements === undefined) continue
    const inTransaction = statements === 1 ? withoutTransaction : inTransactionOf
    runners.set(index, new EndpointRunner(endpoint, interpreter, types, lookupLimits, inTransaction))
  }
  return runners
}

/** Host of lookups, which can access only the database. */
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
