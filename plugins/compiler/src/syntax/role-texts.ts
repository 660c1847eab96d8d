import type { Decorator } from './ast.ts'
import type { StringLiteral } from './ast-expressions.ts'

/** Returns the strings of a decorator, in or after its parentheses: the description of a tool, the name of a test. */
export function roleTexts({ args, strings }: Decorator): StringLiteral[] {
  const inParentheses = (args ?? []).flatMap(({ value }) => (value.kind === 'String' ? [value] : []))
  return [...inParentheses, ...strings]
}
