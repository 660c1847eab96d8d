import { type Hover, MarkupKind, type Position } from 'vscode-languageserver'
import type { LanguageSymbol, Occurrence } from '../symbols/symbol.ts'
import type { Member } from '../syntax/ast-expressions.ts'
import { canonicalDecorator } from '../syntax/decorators.ts'
import type { Name, Span } from '../syntax/node.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'
import type { Analysis } from './analysis.ts'
import { docComment } from './doc-comment.ts'
import { knownType } from './known-types.ts'
import { declarationOf, nativeAt } from './natives.ts'
import { signatureOf, sourceOf } from './signatures.ts'
import { DECORATOR_WORDS } from './vocabulary/decorators.ts'
import { KEYWORD_WORDS } from './vocabulary/keywords.ts'
import { TYPE_WORDS } from './vocabulary/types.ts'
import { VALUE_WORDS } from './vocabulary/values.ts'
import { wordAt } from './word-at.ts'

export function hover(analysis: Analysis, position: Position): Hover | null {
  const offset = analysis.document.offsetAt(position)
  const occurrence = analysis.symbols.at(offset)
  if (occurrence !== undefined) {
    return hoverOf(signature(occurrence, analysis), comment(occurrence.symbol, analysis), occurrence, analysis)
  }
  const word = wordAt(analysis.parsed.tokens, offset)
  if (word === null) return null
  const root = word.end - word.path.join('.').length
  const isOwn = word.path.length > 1 && analysis.symbols.at(root) !== undefined
  const known = isOwn ? null : wordOf(word.path, word.isDecorator)
  if (known !== null) return hoverOf(known.signature, known.text, word, analysis)
  const member = memberAt(word.start, analysis)
  return member === null ? null : hoverOf(member.signature, member.text, word, analysis)
}

function hoverOf(code: string, text: string, at: Span, analysis: Analysis): Hover {
  const value = `\`\`\`vox\n${code}\n\`\`\`${text === '' ? '' : `\n\n${text}`}`
  return { contents: { kind: MarkupKind.Markdown, value }, range: analysis.range(at) }
}

interface Described {
  readonly signature: string
  readonly text: string
}

function wordOf(path: readonly string[], isDecorator: boolean): Described | null {
  const name = path.at(-1) ?? ''
  if (isDecorator) return DECORATOR_WORDS.get(name) ?? DECORATOR_WORDS.get(canonicalDecorator(name)) ?? null
  const native = nativeAt(path)
  if (native !== undefined) return { signature: declarationOf(native), text: native.text }
  if (path.length > 1) return null
  return VALUE_WORDS.get(name) ?? TYPE_WORDS.get(name) ?? KEYWORD_WORDS.get(name) ?? null
}

function signature({ symbol }: Occurrence, analysis: Analysis): string {
  const { kind, name } = symbol
  if (kind !== 'parameter' && kind !== 'variable' && kind !== 'state') return signatureOf(symbol, analysis.text)
  const declared = declaring(symbol)
  const prefix = kind === 'variable' ? 'let ' : `${kind} `
  if (declared !== null && kind !== 'variable')
    return `${prefix}${sourceOf(declared, analysis.text).replace(/^state /, '')}`
  const type = typeOf(symbol, analysis)
  return type === null ? `${prefix}${name}` : `${prefix}${name}: ${type}`
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

/** Returns the type of a variable at its first use of known type. */
export function typeOf(symbol: LanguageSymbol, analysis: Analysis): string | null {
  for (const { start } of analysis.symbols.of(symbol)) {
    const use = analysis.identifiers.get(start)
    const type = use === undefined ? null : knownType(use, analysis)
    if (type !== null) return type.text
  }
  return null
}

function comment({ node, declaration, definition }: LanguageSymbol, { parsed }: Analysis): string {
  const isLocal = node.kind === 'Name'
  if (isLocal) return ''
  return docComment(node.start <= definition.start ? node : declaration, parsed.tokens)
}

/** Describes the field or method after a dot, with the type of its owner. */
function memberAt(start: number, analysis: Analysis): Described | null {
  const member = findMember(start, analysis)
  const type = member === null ? null : knownType(member.object, analysis)
  if (member === null || type === null) return null
  const name = member.property.text
  const field = type.fields.get(name)
  if (field !== undefined) return { signature: `${type.text}.${name}: ${field}`, text: '' }
  const method = type.methods.find(each => each.name === name)
  return method === undefined ? null : { signature: method.declaration, text: method.signature.text }
}

/** Returns the member expression whose name begins at an offset. */
export function findMember(start: number, { parsed }: Analysis): Member | null {
  let found: Member | null = null
  walk(parsed.module, node => {
    if (node.kind === 'Member' && (node as Member).property.start === start) found = node as Member
    return found === null && node.start <= start && start <= node.end
  })
  return found
}
