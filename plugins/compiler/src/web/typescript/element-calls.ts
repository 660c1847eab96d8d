import type { Attribute, Call, Element, Expression } from '../../syntax/ast-expressions.ts'
import { type Name, NO_ID } from '../../syntax/node.ts'
import { isViewTag } from '../../syntax/view-tags.ts'
import type { TranslatedProgram } from './program.ts'

/**
 * Converts a call with positional arguments to an element: `heading("Tasks")`, `Card(task)`. null for other calls.
 * `isLocal` returns true if a local variable has the name.
 */
export function elementOfCall(
  { callee, args, start, end }: Call,
  program: TranslatedProgram,
  isLocal: (name: string) => boolean
): Element | null {
  if (callee.kind !== 'Identifier' || isLocal(callee.name)) return null
  const tag: Name = { text: callee.name, start: callee.start, end: callee.end }
  const element = (attributes: readonly Attribute[], children: readonly Expression[]): Element => ({
    kind: 'Element',
    id: NO_ID,
    syntax: 'call',
    tag,
    attributes,
    children: children.length === 0 ? null : children,
    start,
    end
  })
  const attribute = (name: string, value: Expression): Attribute => ({
    kind: 'Attribute',
    name: { text: name, start: value.start, end: value.start },
    value,
    start: value.start,
    end: value.end
  })
  const named = args.flatMap(({ name, value }) => (name === null ? [] : [attribute(name.text, value)]))
  const positional = args.flatMap(({ name, value }) => (name === null ? [value] : []))
  const component = program.component(callee.name)
  if (component !== undefined) {
    const names =
      'params' in component && component.params !== null ? component.params.map(param => param.name.text) : []
    const properties = 'props' in component ? component.props.map(prop => prop.name.text) : names
    return element(
      [...positional.map((value, index) => attribute(properties[index] ?? `arg${index}`, value)), ...named],
      []
    )
  }
  if (program.names.has(callee.name) || !/^[a-z]/.test(callee.name) || !isViewTag(callee.name)) return null
  // The first argument is the content, except for elements that are rendered elsewhere.
  const [first, second] = positional
  if (callee.name === 'link' && first !== undefined && second !== undefined) {
    return element([attribute('to', second), ...named], [first])
  }
  if (callee.name === 'image' && first !== undefined) {
    return element([attribute('src', first), ...(second === undefined ? [] : [attribute('alt', second)]), ...named], [])
  }
  return element(named, positional)
}
