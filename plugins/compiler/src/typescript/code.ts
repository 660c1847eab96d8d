import { type Doc, group, hardline, indent, join, line, mustBreak, softline } from '../doc/doc.ts'

/** Precedence of TypeScript expressions, from loosest to tightest. */
export const Level = {
  arrow: 0,
  choice: 1,
  /** `??`, which needs parentheses next to `&&` and `||`. */
  nullish: 2,
  or: 3,
  and: 4,
  equality: 5,
  relation: 6,
  sum: 7,
  product: 8,
  prefix: 9,
  postfix: 10
} as const

export type Level = (typeof Level)[keyof typeof Level]

/** A TypeScript expression. */
export interface TypeScriptCode {
  readonly doc: Doc
  readonly level: Level
  /** True if every evaluation returns the same value: a literal, or a name that is never assigned. */
  readonly isStable?: boolean
  /** For `value ?? null`: the value, which another default may follow. */
  readonly withoutNull?: Doc
  /** True if TypeScript cannot infer its type. */
  readonly isOpen?: boolean
  /** Value that TypeScript knows it to have: a literal, `null`, or one of some variants. */
  readonly known?: string | undefined
}

export const code = (doc: Doc, level: Level = Level.postfix): TypeScriptCode => ({ doc, level })
export const stable = (doc: Doc, level: Level = Level.postfix): TypeScriptCode => ({ doc, level, isStable: true })
/** Returns a literal. */
export const fixed = (text: string, level: Level = Level.postfix): TypeScriptCode => ({
  ...stable(text, level),
  known: text
})

/** Returns an expression as an operand, in parentheses if it binds looser than `level`. */
export function operand({ doc, level }: TypeScriptCode, minLevel: Level): Doc {
  return level < minLevel ? ['(', doc, ')'] : doc
}

/** Returns arguments with their parentheses. Multi-line arguments begin on the line of the call. */
export function argumentList(args: readonly Doc[]): Doc {
  return enclosed('(', args, ')')
}

export function enclosed(open: string, items: readonly Doc[], close: string, space: '' | ' ' = ''): Doc {
  if (items.length === 0) return open + close
  if (space === '' && items.length > 0 && items.some(mustBreak)) return [open, join(', ', items), close]
  const edge = space === '' ? softline : line
  return group([open, indent([edge, join([',', line], items)]), edge, close])
}

export function call(callee: Doc, ...args: readonly Doc[]): TypeScriptCode {
  return code([callee, argumentList(args)])
}

export function method(object: TypeScriptCode, name: string, ...args: readonly Doc[]): TypeScriptCode {
  return code([operand(object, Level.postfix), '.', name, argumentList(args)])
}

export function block(statements: readonly Doc[]): Doc {
  if (statements.length === 0) return '{}'
  return ['{', indent([hardline, join(hardline, statements)]), hardline, '}']
}

/** Returns a lambda. A body of one expression follows the arrow directly. */
export function arrow(head: Doc, body: TypeScriptCode | readonly Doc[]): TypeScriptCode {
  if ('doc' in body) {
    const isObject = firstText(body.doc).startsWith('{')
    return code([head, ' => ', isObject ? ['(', body.doc, ')'] : body.doc], Level.arrow)
  }
  return code([head, ' => ', block(body)], Level.arrow)
}

/**
 * Returns an expression as a statement without a semicolon. If it could continue the previous line, it begins with one.
 */
export function expressionStatement(doc: Doc): Doc {
  const first = firstText(doc).charAt(0)
  if (first === '{') return ['(', doc, ')']
  return first !== '' && '([`/+-'.includes(first) ? [';', doc] : doc
}

/** Returns the first non-empty string in a document. */
export function firstText(doc: Doc): string {
  if (typeof doc === 'string') return doc
  if ('type' in doc) return doc.type === 'indent' || doc.type === 'group' ? firstText(doc.content) : ''
  for (const part of doc) {
    const found = firstText(part)
    if (found !== '') return found
  }
  return ''
}
