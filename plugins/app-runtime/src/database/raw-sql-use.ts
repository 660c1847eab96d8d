import { factsOf, type Program } from '@svc/contracts'

/** Declarations that may reach raw SQL. */
export interface RawSqlUse {
  /** True if any declaration may reach raw SQL. */
  readonly isUsed: boolean
  /** True if this function, or this route by method and path, may reach raw SQL. */
  reaches(name: string): boolean
  /** True if handlers of actors or agents may reach raw SQL. */
  readonly isInActors: boolean
}

export function rawSqlUseOf({ module, facts }: Pick<Program, 'module' | 'facts'>): RawSqlUse {
  const reaches = (name: string): boolean => factsOf(facts, name).rawSql
  return {
    isUsed: Object.values(facts.declarations).some(({ rawSql }) => rawSql),
    reaches,
    isInActors: [...module.actors, ...module.agents].some(({ name }) => reaches(name))
  }
}
