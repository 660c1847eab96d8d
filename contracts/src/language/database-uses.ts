import type { HirDbTableOp, HirModule } from './hir.ts'

interface DatabaseUses {
  readonly operations: readonly HirDbTableOp[]
  /** Names of the called functions. */
  readonly calls: ReadonlySet<string>
}

/** Finds the table operations and calls in a part of a program, at any depth. */
export function databaseUses(root: unknown): DatabaseUses {
  const operations: HirDbTableOp[] = []
  const calls = new Set<string>()
  const waiting: object[] = typeof root === 'object' && root !== null ? [root] : []
  // The list grows during the walk.
  for (const node of waiting) {
    if ('DbTableOp' in node) operations.push(node.DbTableOp as HirDbTableOp)
    if ('Call' in node && Array.isArray(node.Call)) {
      const callee = node.Call[0] as { readonly Ident?: readonly [name: string] }
      if (callee.Ident !== undefined) calls.add(callee.Ident[0])
    }
    for (const key in node) {
      const child = node[key as never] as unknown
      // Skips strings, numbers and positions, which are the most frequent.
      if (typeof child === 'object' && child !== null && key !== 'span') waiting.push(child)
    }
  }
  return { operations, calls }
}

/** Returns the declared names of the tables that an operation reads or writes. */
export function tablesOfOperation({ table, plan }: HirDbTableOp): readonly string[] {
  return [table, ...(plan.includes ?? []).map(include => include.table)]
}

/** Returns the table operations of a function and of all functions that it calls. */
function usesThroughCalls(module: HirModule, name: string): readonly HirDbTableOp[] {
  const { functions, query_fns, server_fns, mutation_fns } = module
  const bodies = new Map(
    [...functions, ...query_fns, ...server_fns, ...mutation_fns].map(({ name: each, body }) => [each, body])
  )
  const seen = new Set([name])
  const operations: HirDbTableOp[] = []
  for (const each of seen) {
    const uses = databaseUses(bodies.get(each) ?? null)
    operations.push(...uses.operations)
    for (const called of uses.calls) if (bodies.has(called)) seen.add(called)
  }
  return operations
}

/**
 * Returns the live queries of a module with their table operations: those that read, directly or through functions, with
 * `.live("…")`. Clients receive their changed results.
 */
export function liveQueriesOf(module: HirModule): Map<string, readonly HirDbTableOp[]> {
  const found = new Map<string, readonly HirDbTableOp[]>()
  for (const { name } of module.query_fns) {
    const operations = usesThroughCalls(module, name)
    if (operations.some(({ plan }) => plan.capabilities.emits_change_log)) found.set(name, operations)
  }
  return found
}
