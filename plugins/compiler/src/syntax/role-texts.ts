import type { Decorator } from './ast.ts'
import type { StringLiteral } from './ast-expressions.ts'

/** Strings of a decorator, in parentheses or after it: the description of a tool, the name of a test. */
export function roleTexts({ args, strings }: Decorator): StringLiteral[] {
  const inParentheses = (args ?? []).flatMap(({ value }) => (value.kind === 'String' ? [value] : []))
  return [...inParentheses, ...strings]
}
