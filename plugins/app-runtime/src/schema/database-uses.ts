import type { HirDbTableOp, Program } from '@svc/contracts'

export interface DatabaseUses {
  readonly operations: readonly HirDbTableOp[]
  /** Names of the functions that are called. */
  readonly calls: ReadonlySet<string>
}

/** What a piece of a program does with tables by itself: every operation in it, however deep. */
export function databaseUses(root: unknown): DatabaseUses {
  const operations: HirDbTableOp[] = []
  const calls = new Set<string>()
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const node = waiting.pop()
    if (typeof node !== 'object' || node === null) continue
    if ('DbTableOp' in node) operations.push(node.DbTableOp as HirDbTableOp)
    if ('Call' in node && Array.isArray(node.Call)) {
      const [callee] = node.Call as readonly [{ readonly Ident?: readonly [string] }]
      if (callee.Ident !== undefined) calls.add(callee.Ident[0])
    }
    waiting.push(...Object.values(node))
  }
  return { operations, calls }
}

/** What a function does with tables, itself and through the functions that it calls. */
export function usesThroughCalls(program: Program, name: string): readonly HirDbTableOp[] {
  const { functions, query_fns, server_fns, mutation_fns } = program.module
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
