import type { Fix } from '../../diagnostics/diagnostic.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { Span } from '../../syntax/node.ts'
import { fits, type ValueType } from './type.ts'

/** Expressions that can precede a method call without parentheses. */
const BINDS_TIGHTLY: ReadonlySet<string> = new Set(['Call', 'Identifier', 'Member', 'IndexAccess', 'Paren'])

/** Returns the fix that unwraps a value; none if the inner value would not fit either. */
export function unwrapFix(at: Span | Expression, expected: ValueType, found: ValueType): Fix[] {
  if (found.kind !== 'generic' || (found.name !== 'Result' && found.name !== 'Option')) return []
  const [inner] = found.args
  if (inner === undefined || inner.kind === 'any' || !fits(inner, expected)) return []
  if (!('kind' in at) || !BINDS_TIGHTLY.has(at.kind)) return []
  return [{ label: 'unwrap the value first', span: { start: at.end, end: at.end }, replacement: '.unwrap()' }]
}
