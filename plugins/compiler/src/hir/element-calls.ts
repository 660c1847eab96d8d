import type { Hir } from '@svc/contracts'
import type { Argument } from '../syntax/ast-expressions.ts'
import type { Lowering } from './lowering.ts'

/**
 * Lowers a call with positional arguments that is an element: `heading("Tasks")`, `Card(task)`. Returns null for a name
 * that is neither a component of the module nor a tag.
 */
export function elementOfCall(
  lowering: Lowering,
  tag: string,
  { args, type, span }: { readonly args: readonly Argument[]; readonly type: Hir.Type; readonly span: Hir.Span }
): Hir.Element | null {
  const { module } = lowering
  const attribute = (name: string, { value }: Argument): Hir.Attribute => ({
    name,
    value: lowering.value(value),
    ...module.span(value)
  })
  const element = (attributes: readonly Hir.Attribute[], children: readonly Hir.Expr[]): Hir.Element => ({
    kind: 'Element',
    type,
    tag,
    isCall: true,
    attributes,
    children: children.length === 0 ? null : children,
    ...span
  })
  const positional = args.filter(({ name }) => name === null)
  const named = (): Hir.Attribute[] =>
    args.flatMap(each => (each.name === null ? [] : [attribute(each.name.text, each)]))
  const properties = module.properties(tag)
  if (properties !== null) {
    return element(
      [...positional.map((each, index) => attribute(properties[index] ?? `arg${index}`, each)), ...named()],
      []
    )
  }
  if (!module.isTag(tag)) return null
  // The first argument is the content, except for elements that are rendered elsewhere.
  const [first, second] = positional
  if (tag === 'link' && first !== undefined && second !== undefined) {
    const content = lowering.value(first.value)
    return element([attribute('to', second), ...named()], [content])
  }
  if (tag === 'image' && first !== undefined) {
    const source = attribute('src', first)
    return element([source, ...(second === undefined ? [] : [attribute('alt', second)]), ...named()], [])
  }
  const content = positional.map(({ value }) => lowering.value(value))
  return element(named(), content)
}
