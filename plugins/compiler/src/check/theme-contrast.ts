import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import type { Expression, StringLiteral } from '../syntax/ast-expressions.ts'
import { bare, entryKey, entryValue } from '../syntax/entries.ts'
import { contrast, readColour } from './colour.ts'

/** Minimum contrast for text of normal size (WCAG 2.1, success criterion 1.4.3). */
const MIN_CONTRAST = 4.5

/** Text colours, with the names of their possible background colours. */
const PAIRS: readonly (readonly [text: RegExp, behind: (name: string) => readonly string[]])[] = [
  [/^(text|foreground|fg)$/, () => ['background', 'bg', 'surface']],
  [/^on_(.+)$/, name => [name]],
  [/^(.+)_(?:text|foreground|fg)$/, name => [name, `${name}_background`, `${name}_bg`]]
]

type Colours = ReadonlyMap<string, StringLiteral>

/** Reports text colours of a theme with too little contrast to their background. */
export function checkThemeContrast({ items }: Module): Diagnostic[] {
  return items.flatMap(item => {
    if (item.kind !== 'AppHook' || item.hook !== 'tokens') return []
    return checkTable(item.entries.map(({ name, value }) => [name.text, value] as const))
  })
}

/** Checks a table of colours. Nested tables, such as light and dark, are checked separately. */
function checkTable(entries: readonly (readonly [name: string, value: Expression])[]): Diagnostic[] {
  const colours = new Map<string, StringLiteral>()
  const found: Diagnostic[] = []
  for (const [name, value] of entries) {
    const bareValue = bare(value)
    if (bareValue.kind === 'String') colours.set(name, bareValue)
    if (bareValue.kind === 'Object')
      found.push(...checkTable(bareValue.entries.map(each => [entryKey(each), entryValue(each)])))
  }
  for (const [name, text] of colours) {
    const low = tooLow(name, text, colours)
    if (low !== null) found.push(low)
  }
  return found
}

function tooLow(name: string, text: StringLiteral, colours: Colours): Diagnostic | null {
  for (const [pattern, behind] of PAIRS) {
    const match = pattern.exec(name)
    const under = match === null ? undefined : behind(match[1] ?? '').find(each => colours.has(each))
    const background = under === undefined ? undefined : colours.get(under)
    const [front, back] = [readColour(text.value), readColour(background?.value ?? '')]
    if (background === undefined || front === null || back === null) continue
    const ratio = contrast(front, back)
    if (ratio >= MIN_CONTRAST) return null
    const ratioText = (Math.floor(ratio * 100) / 100).toFixed(2)
    const message = `\`${name}\` on \`${under}\` has a contrast of ${ratioText}:1, which is less than ${MIN_CONTRAST}:1`
    const related = [{ span: background, message: 'the background colour' }]
    return diagnostic('lint.theme_contrast', message, text, { related })
  }
  return null
}
