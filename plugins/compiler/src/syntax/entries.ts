import type { Expression, ObjectEntry } from './ast-expressions.ts'

/** Returns the key of an entry as text. */
export function entryKey({ key }: ObjectEntry): string {
  return 'text' in key ? key.text : key.value
}

/** Returns the value of an entry. The value of the short form `{ a }` is the variable `a`. */
export function entryValue({ id, key, value }: ObjectEntry): Expression {
  if (value !== null) return value
  const { start, end } = key
  return 'text' in key ? { kind: 'Identifier', id, start, end, name: key.text } : key
}

/** Returns an expression without its surrounding parentheses. */
export function bare(expression: Expression): Expression {
  let inner = expression
  while (inner.kind === 'Paren') inner = inner.inner
  return inner
}
