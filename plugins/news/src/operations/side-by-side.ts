import type { Preview } from '../publishing/previews.ts'

const MIN_COLUMN = 32
const GAP = 3

/** Characters that control a terminal, or change the direction of text, so that it reads as another one. */
const CONTROL = /(?!\n)[\p{Cc}\p{Bidi_Control}]/gu
const ZERO_WIDTH = /[\p{Mark}\p{Default_Ignorable_Code_Point}]/u
/** Scripts and symbols that terminals draw two columns wide. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** Returns the previews in columns, as many as `width` terminal columns hold, with each channel in one of them. */
export function sideBySide(previews: readonly Preview[], width: number): string {
  const count = Math.max(1, Math.min(previews.length, Math.floor((width + GAP) / (MIN_COLUMN + GAP))))
  const column = Math.floor((width + GAP) / count) - GAP
  const rows: string[] = []
  for (let at = 0; at < previews.length; at += count) {
    const blocks = previews.slice(at, at + count).map(preview => blockOf(preview, column))
    const height = Math.max(...blocks.map(block => block.length))
    for (let line = 0; line < height; line++) {
      const cells = blocks.map(block => padded(block[line] ?? '', column))
      rows.push(cells.join(' '.repeat(GAP)).trimEnd())
    }
    rows.push('')
  }
  return rows.join('\n')
}

function blockOf({ channel, problem, texts }: Preview, width: number): readonly string[] {
  const lines = [channel, '─'.repeat(width)]
  if (problem !== null) lines.push(...wrapped(`! ${problem}`, width))
  for (const { label, text, length, limit, unit } of texts) {
    const over = length > limit ? ' TOO LONG' : ''
    lines.push(...wrapped(`[${label}: ${length} of ${limit} ${unit}${over}]`, width), ...wrapped(text, width), '')
  }
  return lines
}

/** Wraps lines at spaces, and splits longer words between characters. */
function wrapped(text: string, width: number): readonly string[] {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll('\t', '  ')
    .replace(CONTROL, '\ufffd')
    .split('\n')
    .flatMap(line => wrapLine(line, width))
}

function wrapLine(line: string, width: number): readonly string[] {
  const lines: string[] = []
  let current = ''
  let used = 0
  const flush = (): void => {
    lines.push(current)
    current = ''
    used = 0
  }
  for (const word of line.split(' ')) {
    const size = widthOf(word)
    if (used > 0 && used + 1 + size <= width) {
      current += ` ${word}`
      used += 1 + size
      continue
    }
    if (used > 0) flush()
    for (const character of word) {
      const own = widthOf(character)
      if (used + own > width) flush()
      current += character
      used += own
    }
  }
  flush()
  return lines
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

function widthOf(text: string): number {
  let width = 0
  for (const character of text) if (!ZERO_WIDTH.test(character)) width += WIDE.test(character) ? 2 : 1
  return width
}
