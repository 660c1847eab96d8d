import type { ParameterisedStatement } from './recorded-schema.ts'

/**
 * Effect of a step: `safe` loses no data, `lossy` loses data, `refused` is impossible, and `kept` leaves a table that
 * is no longer declared.
 */
export type StepLevel = 'safe' | 'lossy' | 'refused' | 'kept'

/** One difference between declarations and database. */
export interface SchemaStep {
  readonly level: StepLevel
  /** Declared name, else the name in the database. */
  readonly table: string
  readonly column: string | null
  /** The end of a sentence that begins with the table or column: "is dropped with its 3 rows". */
  readonly says: string
  /** Advice to the user; null if none is needed. */
  readonly wayOut: string | null
}

export interface SchemaPlan {
  /** File of the program that owns the tables, relative to the project. */
  readonly program: string
  readonly steps: readonly SchemaStep[]
  /** Statements of the migration, in one transaction; none if a step is refused. */
  readonly statements: readonly (string | ParameterisedStatement)[]
  /** Warnings about unsupported parts. */
  readonly notes: readonly string[]
}

/** New names of tables by old name, and new names of columns by table and old name in lower case. */
export interface Renames {
  readonly tables: ReadonlyMap<string, string>
  readonly columns: ReadonlyMap<string, ReadonlyMap<string, string>>
}

export const NO_RENAMES: Renames = { tables: new Map(), columns: new Map() }

/** Returns the most severe level of a plan; null if nothing changes. */
export function levelOf({ steps }: Pick<SchemaPlan, 'steps'>): Exclude<StepLevel, 'kept'> | null {
  const levels = new Set(steps.map(({ level }) => level))
  if (levels.has('refused')) return 'refused'
  if (levels.has('lossy')) return 'lossy'
  return levels.has('safe') ? 'safe' : null
}
