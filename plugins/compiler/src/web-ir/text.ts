import type { Doc } from '../doc/doc.ts'
import { literal } from '../typescript/names.ts'
import type { TextPart } from './tree.ts'

/**
 * Returns the value of a placeholder's path; null if its first name is unknown, so that the placeholder is plain text.
 */
export type Resolve = (path: readonly string[]) => Doc | null

/** Splits a view string into text and the values of `{name}` and `{name.field}`. */
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

/** Prints a view string as an expression. */
export function textValue(parts: readonly TextPart[]): Doc {
  if (parts.every(part => 'text' in part)) return literal(parts.map(part => ('text' in part ? part.text : '')).join(''))
  return ['`', parts.map((part): Doc => ('text' in part ? templateText(part.text) : ['${', part.value, '}'])), '`']
}

function templateText(text: string): string {
  return literal(text).slice(1, -1).replaceAll("\\'", "'").replaceAll('`', '\\`').replaceAll('${', '\\${')
}
