import type { Program } from '@svc/contracts'

/** Declarations that may reach raw SQL. */
export interface RawSqlUse {
  /** True if any declaration may reach raw SQL. */
  readonly isUsed: boolean
  /** True if this function, or this route by method and path, may reach raw SQL. */
  reaches(name: string): boolean
  /** True if handlers of actors or agents may reach raw SQL. */
  readonly isInActors: boolean
}

const NONE: RawSqlUse = { isUsed: false, reaches: () => false, isInActors: false }

interface Declaration {
  readonly name: string
  /** Every string in the declaration, including all names. */
  readonly texts: ReadonlySet<string>
}

/** Finds the declarations that may reach raw SQL. Any mention of a name counts as a call, so it may find too many. */
export function rawSqlUseOf(program: Program): RawSqlUse {
  if (!/\.\s*query\s*\(/.test(program.text)) return NONE
  const { module, tests, constants, conditions, defaults } = program
  const declarations = [...Object.values(module), tests].flatMap((list: readonly object[]) => list.map(declarationOf))
  const everywhere = textsOf([constants, conditions, defaults])
  const reaching = new Set<string>()
  const reaches = (texts: ReadonlySet<string>): boolean => hasSql(texts) || [...reaching].some(name => texts.has(name))
  for (let before = -1; before < reaching.size; ) {
    before = reaching.size
    for (const { name, texts } of declarations) if (reaches(texts)) reaching.add(name)
  }
  // Any function may use constants and conditions.
  if (reaches(everywhere)) for (const { name } of declarations) reaching.add(name)
  return {
    isUsed: reaching.size > 0,
    reaches: name => reaching.has(name),
    isInActors: [...module.actors, ...module.agents].some(({ name }) => reaching.has(name))
  }
}

/** True for code with `db.query(…)` or `db.Table.query(…)`. */
function hasSql(texts: ReadonlySet<string>): boolean {
  return texts.has('UnsafeQueryRawClause') || (texts.has('db') && texts.has('query'))
}

function declarationOf(node: object): Declaration {
  const { name, route_contract, func } = node as {
    readonly name?: string
    readonly route_contract?: string
    readonly func?: { readonly name: string }
  }
  return { name: route_contract ?? func?.name ?? name ?? '', texts: textsOf(node) }
}

function textsOf(node: unknown, into = new Set<string>()): Set<string> {
  if (typeof node === 'string') into.add(node)
  else if (typeof node === 'object' && node !== null) for (const each of Object.values(node)) textsOf(each, into)
  return into
}
