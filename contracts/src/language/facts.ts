import type { RequestUse } from './guards.ts'

/** Effects of a function, a route, an actor or another declaration, direct or through calls. */
export interface Facts {
  /** Names of the tables whose rows it reads, in the order of their use. */
  readonly reads: readonly string[]
  /** Names of the tables that it changes. */
  readonly writes: readonly string[]
  /** Operations with `.live("…")`. */
  readonly live: readonly LiveUse[]
  /** True if it may run raw SQL. */
  readonly rawSql: boolean
  readonly request: RequestUse
  /**
   * Maximum number of statements of a function that only finds rows by their id, without loops, recursion, closures,
   * effects and composite values; null for others.
   */
  readonly plainLookup: number | null
}

/** A table whose changes clients can subscribe to. */
export interface LiveUse {
  readonly table: string
  /** null if the operation names no topic. */
  readonly topic: string | null
}

/** Facts about the code of a program. */
export interface ProgramFacts {
  /** By name; a route by method and path. Use {@link factsOf}. */
  readonly declarations: Readonly<Record<string, Facts>>
  /** All operations with `.live("…")`. */
  readonly live: readonly LiveUse[]
  /** Tables that are searched for words. */
  readonly searched: readonly string[]
  /** True if it calls `run_later` or `run_at`. */
  readonly defersCalls: boolean
  /** True if it calls a function of `std.files`. */
  readonly usesFiles: boolean
  /** True if it has an operation of the database. */
  readonly usesDatabase: boolean
}

const NONE: Facts = { reads: [], writes: [], live: [], rawSql: false, request: 'none', plainLookup: null }

/** Returns the facts about a declaration. */
export function factsOf({ declarations }: ProgramFacts, name: string): Facts {
  return Object.hasOwn(declarations, name) ? (declarations[name] as Facts) : NONE
}
