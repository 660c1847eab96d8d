import type { ParameterisedStatement } from './recorded-schema.ts'

/**
 * `safe` keeps everything, `lossy` loses something, `refused` cannot be done, and `kept` is something that the program no
 * longer declares and that is left alone.
 */
export type StepLevel = 'safe' | 'lossy' | 'refused' | 'kept'

/** One difference between what a program declares and what a database has. */
export interface SchemaStep {
  readonly level: StepLevel
  /** As the program declares it, or as the database has it where the program does not. */
  readonly table: string
  readonly column: string | null
  /** One sentence. */
  readonly says: string
  /** Its fix; null when nothing is to be done. */
  readonly wayOut: string | null
}

export interface SchemaPlan {
  /** Of whom. */
  readonly program: string
  readonly steps: readonly SchemaStep[]
  /** Statements that create the declared tables, in one transaction; none where a step is refused. */
  readonly statements: readonly (string | ParameterisedStatement)[]
  /** Warnings about unsupported parts. */
  readonly notes: readonly string[]
}

/** New names of columns by table and old name, in lower case, and of tables by their old names. */
export interface Renames {
  readonly tables: ReadonlyMap<string, string>
  readonly columns: ReadonlyMap<string, ReadonlyMap<string, string>>
}

export const NO_RENAMES: Renames = { tables: new Map(), columns: new Map() }

/** The worst of a plan; null for a plan that changes nothing. */
export function levelOf({ steps }: Pick<SchemaPlan, 'steps'>): Exclude<StepLevel, 'kept'> | null {
  const levels = new Set(steps.map(({ level }) => level))
  if (levels.has('refused')) return 'refused'
  if (levels.has('lossy')) return 'lossy'
  return levels.has('safe') ? 'safe' : null
}
