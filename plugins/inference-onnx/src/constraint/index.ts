// Exports of this folder for tests. Sources import the files directly.

export { codePoints, complement, everyCodePoint, intersect } from './code-points.ts'
export { compileConstraint } from './compile-constraint.ts'
export { CompileLimitExceeded, withLimits } from './compile-limits.ts'
export { ConstraintThreads } from './constraint-threads.ts'
export { numbers } from './decimal.ts'
export { combine } from './dfa.ts'
export { formats } from './formats.ts'
export { type GbnfExpression, parseGbnf } from './gbnf-parser.ts'
export { jsonString, jsonStringBytes, literals, otherNames } from './json-text.ts'
export { type ConstraintVocabulary, OutputConstraints } from './output-constraints.ts'
export { compileRegex } from './regex.ts'
export { utf8Ranges } from './utf8.ts'
