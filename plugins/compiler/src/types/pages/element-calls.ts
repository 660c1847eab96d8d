import type { Declaration } from '../../syntax/ast.ts'
import type { Argument, Call, Element } from '../../syntax/ast-expressions.ts'
import { NO_ID } from '../../syntax/node.ts'
import type { Context } from '../context.ts'

/**
 * Returns the call that an element with parentheses and names is: `Box(h=1)` of a variant, `label(for=1)` of a function
 * with that parameter. The parser cannot distinguish them. Returns null for an element.
 */
export function callOfElement(context: Context, element: Element): Call | null {
  const { id, syntax, tag, attributes, children, start, end } = element
  if (syntax !== 'call' || children !== null || context.scopes.lookup(tag.text) !== undefined) return null
  const entry = context.names.get(tag.text)
  if (entry === undefined || !isCalled(entry.declaration, element)) return null
  const args = attributes.map(({ kind: _, name, value, ...span }): Argument | null =>
    value === null ? null : { kind: 'Argument', name, value, ...span }
  )
  if (!args.every(each => each !== null)) return null
  const callee = { kind: 'Identifier', id: NO_ID, name: tag.text, start: tag.start, end: tag.end } as const
  return { kind: 'Call', id, callee, args, start, end }
}

function isCalled(declaration: Declaration, { tag, attributes }: Element): boolean {
  switch (declaration.kind) {
    case 'Function': {
      const { role, result, params } = declaration
      const isOfView = role === 'component' || role === 'island' || role === 'loading'
      const isElement = result?.kind === 'NamedType' && result.path.at(-1)?.text === 'Element'
      if (isOfView || isElement) return false
      if (/^[A-Z]/.test(tag.text)) return result !== null
      const names = new Set(params.map(({ name }) => name.text))
      return attributes.length > 0 && attributes.every(({ name }) => names.has(name.text))
    }
    case 'Type':
      return true
    default:
      return false
  }
}
