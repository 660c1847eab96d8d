import { childrenOf, type Hir, type HirNode } from '@svc/contracts'

/** Nodes that only evaluate what is in them. */
const PLAIN: ReadonlySet<HirNode['kind']> = new Set<Hir.Expr['kind']>([
  ...(['Int', 'Float', 'Decimal', 'Str', 'Bool', 'Unit', 'Local', 'State', 'Constant'] as const),
  ...(['Binary', 'Logical', 'Unary', 'Convert', 'Field', 'Item', 'Index'] as const)
])

/** Natives that only look at their arguments. */
const LOOKING: ReadonlySet<string> = new Set([
  'len',
  ...['len', 'is_empty', 'length', 'get', 'at', 'first', 'last'].map(name => `List.${name}`),
  ...['len', 'is_empty', 'get', 'has'].map(name => `Map.${name}`),
  ...['len', 'is_empty'].map(name => `str.${name}`)
])

/**
 * True if the evaluation of an expression certainly assigns no variable. A list that is read before it then needs no
 * protection from changes in place.
 */
export function assignsNothing(node: HirNode): boolean {
  const isPlain = PLAIN.has(node.kind) || (node.kind === 'CallNative' && LOOKING.has(node.native))
  return isPlain && childrenOf(node).every(assignsNothing)
}
