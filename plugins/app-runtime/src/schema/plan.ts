import type { ParameterisedStatement } from './recorded-schema.ts'

/**
 * `safe` loses nothing, `lossy` loses something, `refused` is impossible, and `kept` is no longer declared but left
 * unchanged.
 */
export type StepLevel = 'safe' | 'lossy' | 'refused' | 'kept'

/** One difference between declarations and database. */
export interface SchemaStep {
  readonly level: StepLevel
  /** Declared name, or else the name in the database. */
  readonly table: string
  readonly column: string | null
  /** One sentence. */
  readonly says: string
  /** Its fix; null if none is needed. */
  readonly wayOut: string | null
}

export interface SchemaPlan {
  /** Owner of the table. */
  readonly program: string
  readonly steps: readonly SchemaStep[]
  /** Statements that create the declared tables, in one transaction; none if a step is refused. */
  readonly statements: readonly (string | ParameterisedStatement)[]
  /** Warnings about unsupported parts. */
  readonly notes: readonly string[]
}

/** New column names by table and old name, in lower case, and new table names by old ones. */
export interface Renames {
  readonly tables: ReadonlyMap<string, string>
  readonly columns: ReadonlyMap<string, ReadonlyMap<string, string>>
}

export const NO_RENAMES: Renames = { tables: new Map(), columns: new Map() }

/** The most severe step of a plan; null for an empty plan. */
export function levelOf({ steps }: Pick<SchemaPlan, 'steps'>): Exclude<StepLevel, 'kept'> | null {
  const levels = new Set(steps.map(({ level }) => level))
  if (levels.has('refused')) return 'refused'
  if (levels.has('lossy')) return 'lossy'
  return levels.has('safe') ? 'safe' : null
}
