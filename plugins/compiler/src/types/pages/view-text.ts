import type { Expression, Identifier, StringLiteral } from '../../syntax/ast-expressions.ts'
import type { Context } from '../context.ts'
import { isExempt, knownNames, meaningOf, nearest } from '../resolve.ts'

/** Reports mistakes in the text of an element. Returns children that were reported as text without quotes. */
export function checkText(context: Context, children: readonly Expression[]): ReadonlySet<Expression> {
  for (const child of children) if (child.kind === 'String') checkPlaceholders(context, child)
  const words = unquotedWords(context, children)
  for (const [first, text] of words) {
    if (text === null) continue
    const span = { start: first.start, end: first.start + text.length }
    context.report('typecheck.undefined', `\`${text}\` is not declared`, span, {
      suggestions: ['write the text of a view in quotes'],
      fixes: [{ label: `write "${text}"`, span, replacement: `"${text}"` }]
    })
  }
  return new Set(words.keys())
}

/** Returns text that lacks its quotes, with its first word; null for each further word: `<h1>Hello there</h1>`. */
function unquotedWords(context: Context, children: readonly Expression[]): ReadonlyMap<Identifier, string | null> {
  const words = new Map<Identifier, string | null>()
  let first: Identifier | null = null
  let end = -1
  for (const child of children) {
    if (child.kind !== 'Identifier' || !isUnknown(context, child.name)) first = null
    else if (first !== null && child.start === end + 1) {
      words.set(first, `${words.get(first)} ${child.name}`)
      words.set(child, null)
    } else {
      first = child
      words.set(child, child.name)
    }
    end = child.end
  }
  return words
}

/** True for a name that is not declared, and probably not misspelt. */
function isUnknown(context: Context, name: string): boolean {
  if (meaningOf(context, name) !== null || isExempt(context, name)) return false
  return nearest(context, name, () => knownNames(context)) === undefined
}

/** An expression in braces that is no name with fields. */
const PLACEHOLDER = /\{\s*([A-Za-z_]\w*)(?:\.\w+)*\s*(?:(?:[([+\-*/%<>?]|(?:is|isnt|and|or)\b)[^{}]*)?\}/g

/** Reports `{f(a)}` and `{ name }` in a text, which are shown as they are. */
function checkPlaceholders(context: Context, literal: StringLiteral): void {
  const isPlain = literal.end - literal.start === literal.value.length + 2
  for (const { 0: found, 1: root = '', index } of literal.value.matchAll(PLACEHOLDER)) {
    if (/^\{\w+(?:\.\w+)*\}$/.test(found) || meaningOf(context, root) === null) continue
    const start = literal.start + 1 + index
    const span = isPlain ? { start, end: start + found.length } : literal
    const written = found.replace(/^\{\s+|\s+\}$/g, edge => edge.trim())
    context.report('lint.unreplaced_text', `\`${found}\` is shown as it is, and not replaced by a value`, span, {
      suggestions: [`end the text before it: "…" ${written}`]
    })
  }
}
