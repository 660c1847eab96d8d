import { MarkupKind, type ParameterInformation, type Position, type SignatureHelp } from 'vscode-languageserver'
import type { LanguageSymbol } from '../symbols/symbol.ts'
import type { Field, Handler, Param, Type } from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import { isNativeFunction } from '../types/natives/natives-contract.ts'
import type { Analysis } from './analysis.ts'
import { callAt } from './call-at.ts'
import { docComment } from './doc-comment.ts'
import { findMember } from './hover.ts'
import { knownType } from './known-types.ts'
import { declarationOf, nativeAt } from './natives.ts'
import { sourceOf } from './signatures.ts'
import { DATABASE_WORDS } from './vocabulary/database.ts'
import { wordAt } from './word-at.ts'

export interface Callable {
  /** `add(left: int, right: int = 1) to int` */
  readonly label: string
  readonly text: string
  readonly isVariadic: boolean
}

/** Returns the parameters of the call at the cursor. */
export function signatureHelp(analysis: Analysis, position: Position): SignatureHelp | null {
  const { tokens } = analysis.parsed
  const call = callAt(tokens, analysis.document.offsetAt(position))
  if (call === null) return null
  const callable = callableAt(tokens.start(call.callee), analysis)
  if (callable === null) return null
  const { label, text, isVariadic } = callable
  const spans = parameterSpans(label)
  const named = parameterNamesOf(label).indexOf(call.name ?? '')
  const index = call.name !== null && named >= 0 ? named : call.index
  const parameters: ParameterInformation[] = spans.map(span => ({ label: span }))
  return {
    signatures: [
      { label, parameters, ...(text === '' ? {} : { documentation: { kind: MarkupKind.Markdown, value: text } }) }
    ],
    activeSignature: 0,
    activeParameter: isVariadic ? Math.min(index, spans.length - 1) : index
  }
}

/** Returns what the name at an offset calls. */
export function callableAt(start: number, analysis: Analysis): Callable | null {
  const { symbols, parsed } = analysis
  const occurrence = symbols.at(start)
  if (occurrence !== undefined && occurrence.start === start) return ofSymbol(occurrence.symbol, analysis)
  const word = wordAt(parsed.tokens, start + 1)
  if (word === null || word.isDecorator) return null
  const { path } = word
  const isOwn = path.length > 1 && symbols.at(word.end - path.join('.').length) !== undefined
  const native = isOwn ? undefined : nativeAt(path)
  if (native !== undefined) {
    if (!isNativeFunction(native)) return null
    return { label: declarationOf(native), text: native.text, isVariadic: native.isVariadic }
  }
  return path.length > 1 ? ofMember(start, analysis) : null
}

function ofMember(start: number, analysis: Analysis): Callable | null {
  const member = findMember(start, analysis)
  if (member === null) return null
  const name = member.property.text
  const type = knownType(member.object, analysis)
  const handler = type?.actor?.members.find(each => each.kind === 'Handler' && each.event.text === name)
  if (handler !== undefined) return declared(name, handler as Handler, analysis)
  const operation = isTableChain(member.object) ? DATABASE_WORDS.get(name) : undefined
  if (operation !== undefined) return { label: operation.signature, text: operation.text, isVariadic: false }
  const method = type?.methods.find(each => each.name === name)
  return method === undefined ? null : { label: method.declaration, text: method.signature.text, isVariadic: false }
}

/** True for a table, and for a chain of calls on one: `db.Task`, `db.Task.all()`. */
function isTableChain(node: Expression): boolean {
  if (node.kind === 'Call') return isTableChain(node.callee)
  if (node.kind !== 'Member') return false
  return (node.object.kind === 'Identifier' && node.object.name === 'db') || isTableChain(node.object)
}

function ofSymbol(symbol: LanguageSymbol, analysis: Analysis): Callable | null {
  const { declaration, node, kind } = symbol
  const text =
    node.kind === 'Name'
      ? ''
      : docComment(node.start <= symbol.definition.start ? node : declaration, analysis.parsed.tokens)
  const made = (callee: Parameters): Callable => ({ ...declared(symbol.name, callee, analysis), text })
  switch (kind) {
    case 'constructor': {
      const fields = 'fields' in node ? (node.fields as readonly Field[]) : []
      return made({ params: fields, result: null })
    }
    case 'handler':
      return made(node as unknown as Handler)
    case 'variable':
    case 'parameter':
    case 'state': {
      const use = analysis.symbols.of(symbol).find(({ isDefinition }) => !isDefinition)
      const identifier = use === undefined ? undefined : analysis.identifiers.get(use.start)
      const type = identifier === undefined ? null : knownType(identifier, analysis)
      return type?.text.startsWith('fn(') === true ? { label: type.text, text: '', isVariadic: false } : null
    }
    default:
      return 'params' in declaration && declaration.params !== null ? made(declaration as Parameters) : null
  }
}

interface Parameters {
  readonly params: readonly (Param | Field)[]
  readonly result?: Type | null
}

function declared(name: string, { params, result = null }: Parameters, { text }: Analysis): Callable {
  const parameters = params.map(param => sourceOf(param, text)).join(', ')
  const label = `${name}(${parameters})${result === null ? '' : ` to ${sourceOf(result, text)}`}`
  return { label, text: '', isVariadic: false }
}

/** Returns the places of the parameters in a signature, which follow its first parenthesis. */
function parameterSpans(label: string): [start: number, end: number][] {
  const spans: [number, number][] = []
  let depth = 0
  let quote = ''
  let start = -1
  for (let at = 0; at < label.length; at++) {
    const character = label[at] as string
    if (quote !== '') {
      if (character === '\\') at++
      else if (character === quote) quote = ''
      continue
    }
    if (start >= 0 && depth === 1 && (character === ',' || character === ')')) {
      if (label.slice(start, at).trim() !== '') spans.push([start, at])
      start = character === ',' ? at + 2 : -1
      if (character === ')') return spans
    }
    if (character === '"' || character === "'") quote = character
    else if ('([{'.includes(character)) {
      depth++
      if (character === '(' && depth === 1) start = at + 1
    } else if (')]}'.includes(character)) depth--
  }
  return spans
}

/** Returns the names of the parameters in a signature; an empty one for a parameter of a function type. */
export function parameterNamesOf(label: string): string[] {
  return parameterSpans(label).map(([start, end]) => /^\w+(?=\??(?:\.{3})?:)/.exec(label.slice(start, end))?.[0] ?? '')
}
