import { type FunctionDeclaration, parse, walk } from '#syntax'

type TypeSyntax = NonNullable<FunctionDeclaration['result']>

/** A type of a parameter, by name. The first argument of `fn` is its result. */
export interface ParameterType {
  readonly name: string
  readonly args: readonly ParameterType[]
}

const EXPRESSIONS: ReadonlySet<string> = new Set(
  (
    'Int Float Decimal String Bool Unit Identifier Paren Tuple List Object Struct If Match For Lambda Unary Binary Call ' +
    'Member TupleIndex IndexAccess Try'
  ).split(' ')
)

/** Returns the spans of all expressions of a program from an offset on; none for a program with syntax errors. */
export function expressionsOf(source: string, from: number): { start: number; end: number }[] {
  const { module, diagnostics } = parse(source)
  const found: { start: number; end: number }[] = []
  if (diagnostics.length > 0) return found
  for (const item of module.items) {
    if (item.start < from) continue
    walk(item, node => {
      if (EXPRESSIONS.has(node.kind)) found.push({ start: node.start, end: node.end })
      return node.kind !== 'Decorator'
    })
  }
  return found
}

/** Returns the types of the parameters of a function; null if there is none, or its parameters are open. */
export function functionOf(source: string, name: string): { readonly params: readonly ParameterType[] } | null {
  const { module, diagnostics } = parse(source)
  if (diagnostics.length > 0) return null
  for (const item of module.items) {
    if (item.kind !== 'Function' || item.name.text !== name || item.generics.length > 0) continue
    const params = item.params.map(({ type }) => (type === null ? null : read(type)))
    return params.includes(null) ? null : { params: params.filter(type => type !== null) }
  }
  return null
}

function read(type: TypeSyntax): ParameterType {
  switch (type.kind) {
    case 'NamedType':
      return { name: type.path[0]?.text ?? '', args: type.args.map(read) }
    case 'OptionalType':
      return { name: 'Option', args: [read(type.inner)] }
    case 'TupleType':
      return { name: 'tuple', args: type.items.map(read) }
    case 'FunctionType': {
      const result = type.result === null ? { name: 'Unit', args: [] } : read(type.result)
      return { name: 'fn', args: [result, ...type.params.map(read)] }
    }
    case 'DecimalType':
      return { name: 'dec', args: [] }
    default:
      return { name: 'Unit', args: [] }
  }
}
