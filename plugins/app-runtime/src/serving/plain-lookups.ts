import { factsOf, type HirModule, type HirType, type Program } from '@svc/contracts'

/** Queries of a program that only fetch rows by id, and so always end soon. */
export interface PlainLookups {
  /** Maximum database statements of each query, by query name. */
  readonly queries: ReadonlyMap<string, number>
  /** The program, reduced to the parts that those queries need. */
  readonly program: Program
}

/** Parameter types that need no declaration of the program. */
const TYPES: ReadonlySet<string> = new Set(['int', 'float', 'str', 'char', 'bool', 'dec'])

/** Finds the queries whose facts and parameters make them lookups. */
export function plainLookups(program: Program): PlainLookups {
  const { module, facts } = program
  const statementsOf = (name: string): number | null => factsOf(facts, name).plainLookup
  const isPlain = ({ name }: { readonly name: string }): boolean => statementsOf(name) !== null
  const queries = new Map<string, number>()
  for (const { name, params } of module.query_fns) {
    const statements = params.every(({ type_ann }) => isPlainType(type_ann)) ? statementsOf(name) : null
    if (statements !== null && statements > 0) queries.set(name, statements)
  }
  const own: HirModule = {
    ...module,
    routes: [],
    actors: [],
    workflows: [],
    activities: [],
    mcp_tools: [],
    mcp_resources: [],
    agents: [],
    functions: module.functions.filter(isPlain),
    query_fns: module.query_fns.filter(isPlain),
    mutation_fns: [],
    server_fns: []
  }
  return {
    queries,
    program: { ...program, module: own, tests: [], constants: [], conditions: [] }
  }
}

function isPlainType(type: HirType | null): boolean {
  if (type === null) return false
  if (typeof type === 'string') return type === 'Decimal'
  if ('Named' in type) return TYPES.has(type.Named)
  if (!('Generic' in type)) return false
  const [name, [item = null]] = type.Generic
  return name === 'Id' || (name === 'Option' && isPlainType(item))
}
