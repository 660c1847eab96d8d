import type { LanguageSymbol } from '../symbols/symbol.ts'
import type { Param, Type } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'

/** Maximum length of a shown declaration, in characters. */
const MAX_SIGNATURE = 400

/** Returns the source of a syntax node, on one line. */
export function sourceOf({ start, end }: Span, text: string): string {
  return text.slice(start, end).trim().replace(/\s+/g, ' ')
}

/** Returns the declaration of a symbol without its body: `fn add(a: int) to int`, `Task.title: str`. */
export function signatureOf({ name, kind, node, declaration }: LanguageSymbol, text: string): string {
  const owner = 'name' in declaration && declaration.name !== null ? declaration.name.text : ''
  if (kind === 'field' || kind === 'constructor') return `${owner}.${sourceOf(node, text)}`
  if (kind === 'generic') return name
  const body = 'body' in node ? (node.body as Span | null) : null
  // The `body` of a component is the span of its braces.
  const header = sourceOf({ start: node.start, end: body === null ? node.end : body.start }, text)
  const signature = kind === 'handler' ? `${owner}: ${header}` : header
  return signature.length > MAX_SIGNATURE ? `${signature.slice(0, MAX_SIGNATURE)} …` : signature
}

/** Returns the parameters and the result of a callable: `(a: int, b: str) to int`. */
export function callSignature(params: readonly Param[], result: Type | null, text: string): string {
  const parameters = params.map(param => sourceOf(param, text)).join(', ')
  return `(${parameters})${result === null ? '' : ` to ${sourceOf(result, text)}`}`
}
