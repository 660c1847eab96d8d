import { type Hover, MarkupKind, type Position } from 'vscode-languageserver'
import { methodResult } from '../check/types/methods.ts'
import { show, type ValueType } from '../check/types/type.ts'
import type { LanguageSymbol, Occurrence } from '../symbols/symbol.ts'
import type { Identifier, Member } from '../syntax/ast-expressions.ts'
import { canonicalDecorator } from '../syntax/decorators.ts'
import type { Name, Span } from '../syntax/node.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'
import type { Analysis } from './analysis.ts'
import { docComment } from './doc-comment.ts'
import { signatureOf, sourceOf } from './signatures.ts'
import { DECORATOR_WORDS } from './vocabulary/decorators.ts'
import { FUNCTIONS } from './vocabulary/functions.ts'
import { KEYWORD_WORDS } from './vocabulary/keywords.ts'
import { NAMESPACE_WORDS, STD_WORDS } from './vocabulary/std.ts'
import { TYPE_WORDS } from './vocabulary/types.ts'
import type { VocabularyWord } from './vocabulary/word.ts'
import { wordAt } from './word-at.ts'

export function hover(analysis: Analysis, position: Position): Hover | null {
  const offset = analysis.document.offsetAt(position)
  const occurrence = analysis.symbols.at(offset)
  if (occurrence !== undefined) {
    return hoverOf(signature(occurrence, analysis), comment(occurrence.symbol, analysis), occurrence, analysis)
  }
  const word = wordAt(analysis.parsed.tokens, offset)
  if (word === null) return null
  const known = wordOf(word.path, word.isDecorator)
  if (known !== null) return hoverOf(known.signature, known.text, word, analysis)
  const member = memberAt(word.start, analysis)
  return member === null ? null : hoverOf(member, '', word, analysis)
}

function hoverOf(code: string, text: string, at: Span, analysis: Analysis): Hover {
  const value = `\`\`\`vox\n${code}\n\`\`\`${text === '' ? '' : `\n\n${text}`}`
  return { contents: { kind: MarkupKind.Markdown, value }, range: analysis.range(at) }
}

function wordOf(path: readonly string[], isDecorator: boolean): VocabularyWord | null {
  const name = path.at(-1) ?? ''
  if (isDecorator) return DECORATOR_WORDS.get(name) ?? DECORATOR_WORDS.get(canonicalDecorator(name)) ?? null
  if (path[0] === 'std' && path.length > 1) {
    const word = STD_WORDS.get(path.slice(1).join('.'))
    return word === undefined ? null : { ...word, signature: `std.${word.name}${word.signature}` }
  }
  if (path.length > 1) {
    const word = NAMESPACE_WORDS.get(path.join('.'))
    return word === undefined ? null : { ...word, signature: `${word.name}${word.signature}` }
  }
  return FUNCTIONS.get(name) ?? TYPE_WORDS.get(name) ?? KEYWORD_WORDS.get(name) ?? null
}

function signature({ symbol }: Occurrence, analysis: Analysis): string {
  const { kind, name } = symbol
  if (kind !== 'parameter' && kind !== 'variable' && kind !== 'state') return signatureOf(symbol, analysis.text)
  const declared = declaring(symbol)
  const prefix = kind === 'variable' ? 'let ' : `${kind} `
  if (declared !== null && kind !== 'variable')
    return `${prefix}${sourceOf(declared, analysis.text).replace(/^state /, '')}`
  const type = typeOf(symbol, analysis)
  return type === null || type.kind === 'any' ? `${prefix}${name}` : `${prefix}${name}: ${show(type)}`
}

/** Returns the parameter or state field that declares a symbol. */
function declaring({ declaration, definition }: LanguageSymbol): AnyNode | null {
  let found: AnyNode | null = null
  walk(declaration, node => {
    if ((node as AnyNode & { readonly name?: Name }).name === definition) found = node
    return found === null
  })
  return found
}

/** Returns the type of a variable at its use. */
function typeOf(symbol: LanguageSymbol, { symbols, types }: Analysis): ValueType | null {
  const starts = new Set(symbols.of(symbol).map(({ start }) => start))
  for (const [expression, type] of types.byExpression) {
    if (
      expression.kind === 'Identifier' &&
      (expression as Identifier).name === symbol.name &&
      starts.has(expression.start)
    )
      return type
  }
  return null
}

function comment({ node, declaration, definition }: LanguageSymbol, { parsed }: Analysis): string {
  const isLocal = node.kind === 'Name'
  if (isLocal) return ''
  return docComment(node.start <= definition.start ? node : declaration, parsed.tokens)
}

/** Describes the field or method after a dot, with the type of its owner. */
function memberAt(start: number, { parsed, types }: Analysis): string | null {
  let found: Member | null = null
  walk(parsed.module, node => {
    if (node.kind === 'Member' && (node as Member).property.start === start) found = node as Member
    return found === null && node.start <= start && start <= node.end
  })
  if (found === null) return null
  const { object, property } = found as Member
  const type = types.byExpression.get(object)
  if (type === undefined || type.kind === 'any') return null
  const field = types.reader.fieldsOf(type)?.get(property.text)
  if (field !== undefined) return `${show(type)}.${property.text}: ${show(field)}`
  const result = methodResult(type, property.text)
  return result === undefined ? null : `${show(type)}.${property.text}(…) to ${show(result)}`
}
