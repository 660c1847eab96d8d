import type { Doc } from '../../format/doc.ts'
import { literal } from '../typescript-names.ts'

/** A part of a text: literal text, or the TypeScript of a value. */
export type TextPart = { readonly text: string } | { readonly value: Doc }

/** The value of the names in a hole; null if the first name is unknown, so that the hole is plain text. */
export type Resolve = (path: readonly string[]) => Doc | null

/** A text of a view with values for `{name}` and `{name.field}`. */
export function textParts(content: string, resolve: Resolve): TextPart[] {
  const parts: TextPart[] = []
  let text = ''
  let last = 0
  for (const match of content.matchAll(/\{([A-Za-z_]\w*(?:\.\w+)*)\}/g)) {
    const value = resolve((match[1] as string).split('.'))
    if (value === null) continue
    text += content.slice(last, match.index)
    if (text !== '') parts.push({ text })
    text = ''
    parts.push({ value })
    last = match.index + match[0].length
  }
  text += content.slice(last)
  if (text !== '') parts.push({ text })
  return parts
}

/** A text as a JSX child. */
export function textChild(content: string, resolve: Resolve): Doc {
  const parts = textParts(content, resolve)
  const isPlain =
    content.trim() === content && content !== '' && parts.every(part => 'value' in part || isJsxText(part.text))
  if (isPlain) return parts.map(part => ('text' in part ? part.text : ['{', part.value, '}']))
  return ['{', textValue(parts), '}']
}

/** A text as an expression. */
export function textValue(parts: readonly TextPart[]): Doc {
  if (parts.every(part => 'text' in part)) return literal(parts.map(part => ('text' in part ? part.text : '')).join(''))
  return ['`', parts.map((part): Doc => ('text' in part ? templateText(part.text) : ['${', part.value, '}'])), '`']
}

function templateText(text: string): string {
  return literal(text).slice(1, -1).replaceAll("\\'", "'").replaceAll('`', '\\`').replaceAll('${', '\\${')
}

/** True if JSX shows a text unchanged. */
function isJsxText(text: string): boolean {
  return !/[{}<>&\n\r\t]|\s{2}/.test(text)
}
