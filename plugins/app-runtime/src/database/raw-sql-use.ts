import type { Program } from '@svc/contracts'

/** Declarations that may reach raw SQL. */
export interface RawSqlUse {
  /** True if there is any. */
  readonly isUsed: boolean
  /** For a function name, or the method and path of a route. */
  reaches(name: string): boolean
  /** True if handlers of actors or agents may. */
  readonly isInActors: boolean
}

const NONE: RawSqlUse = { isUsed: false, reaches: () => false, isInActors: false }

interface Declaration {
  readonly name: string
  /** Every string in it, including every name that it mentions. */
  readonly texts: ReadonlySet<string>
}

/** Any mention counts as a call, so the result may overestimate the functions that reach SQL. */
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
  // Constants and conditions count for every declaration.
  if (reaches(everywhere)) for (const { name } of declarations) reaching.add(name)
  return {
    isUsed: reaching.size > 0,
    reaches: name => reaching.has(name),
    isInActors: [...module.actors, ...module.agents].some(({ name }) => reaching.has(name))
  }
}

/** `db.query(…)`, and `db.Table.query(…)`. */
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
