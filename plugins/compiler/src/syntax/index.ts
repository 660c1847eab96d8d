// Exports of this folder for tests. Sources import the files directly.

export type { Declaration, Expression, FunctionDeclaration, Statement } from './ast.ts'
export type { Identifier } from './ast-expressions.ts'
export { lex } from './lexer.ts'
export { parse } from './parse.ts'
export { MAX_HEIGHT, MAX_NESTING, Parser } from './parser/parser.ts'
export { sameSyntax } from './same-syntax.ts'
export { stringValue } from './string-value.ts'
export { describeKind, KEYWORDS, Kind } from './token.ts'
export { walk } from './walk.ts'
