import type { Expr, Stmt } from './expressions.ts'

export type HirNode = Expr | Stmt

/** Marks the end of a `switch` over all kinds of nodes, types or operators. */
export function unreachable(value: never): never {
  throw new TypeError(`not expected here: ${String((value as { readonly kind?: unknown }).kind ?? value)}`)
}

/** Returns the parts of a node that are code themselves, in the order of their evaluation. */
export function childrenOf(node: HirNode): readonly HirNode[] {
  switch (node.kind) {
    case 'Int':
    case 'Float':
    case 'Decimal':
    case 'Str':
    case 'Bool':
    case 'Unit':
    case 'Local':
    case 'State':
    case 'Constant':
    case 'Function':
    case 'Native':
    case 'Constructor':
    case 'Request':
    case 'Unresolved':
    case 'Break':
    case 'Continue':
      return NONE
    case 'Tuple':
    case 'List':
      return node.items
    case 'Record':
    case 'Struct':
      return node.fields.map(([, value]) => value)
    case 'Map':
      return node.entries.map(([, value]) => value)
    case 'Variant':
      return node.args
    case 'Binary':
    case 'Logical':
      return [node.left, node.right]
    case 'Unary':
    case 'Convert':
    case 'Try':
      return [node.operand]
    case 'Call':
    case 'Spawn':
      return present([...node.args, node.options])
    case 'CallValue':
      return [node.callee, ...node.args]
    case 'CallNative':
      return present([node.receiver, ...node.args, node.options])
    case 'CallHandler':
      return present([node.target, ...node.args, node.options])
    case 'CallMethod':
      return [node.receiver, ...node.args]
    case 'Field':
    case 'Item':
      return [node.object]
    case 'Index':
      return [node.object, node.index]
    case 'Db': {
      const { args, limit, offset, page } = node
      return present([...args.map(({ value }) => value), limit, offset, page?.size ?? null, page?.cursor ?? null])
    }
    case 'RawSql':
      return present([node.sql, node.values])
    case 'Match':
      return [node.subject, ...node.arms.flatMap(({ guard, body }) => (guard === null ? [body] : [guard, body]))]
    case 'If':
      return [node.condition, ...node.then, ...(node.otherwise ?? NONE)]
    case 'For':
      return present([node.iterable, node.key, node.body])
    case 'Lambda':
      return present([...node.defaults, node.body])
    case 'Block':
    case 'SideEffect':
      return node.block
    case 'Element':
      return present([...node.attributes.map(({ value }) => value), ...(node.children ?? NONE)])
    case 'Fragment':
      return node.children
    case 'Let':
    case 'Expr':
      return [node.value]
    case 'Update':
      return [...node.place.path.flatMap(part => ('index' in part ? [part.index] : [])), node.value]
    case 'Return':
      return node.value === null ? NONE : [node.value]
    case 'While':
      return [node.condition, ...node.body]
    case 'Loop':
      return node.body
    default:
      return unreachable(node)
  }
}

const NONE: readonly HirNode[] = []

function present(nodes: readonly (HirNode | null)[]): HirNode[] {
  return nodes.filter(node => node !== null)
}

/** Visits a node and then what is in it, in the order of evaluation. `visit` returns false to skip what is in it. */
export function walkHir(node: HirNode, visit: (node: HirNode) => boolean): void {
  if (!visit(node)) return
  for (const child of childrenOf(node)) walkHir(child, visit)
}
