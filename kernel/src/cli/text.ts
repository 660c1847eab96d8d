const PLAIN = /^[\x20-\x7e]*$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const COLOUR = /\x1b\[[0-9;]*m/g
/** Control characters except tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: text of other machines must not control a terminal
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above; colours stay
const CONTROL_EXCEPT_COLOUR = /\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g
const ZERO_WIDTH = /[\p{Mark}\p{Default_Ignorable_Code_Point}]/u
/** Scripts and symbols that terminals draw two columns wide. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u

/** Returns the width of text on a terminal in columns, without colour codes. */
export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const character of withoutColour(text)) {
    if (!ZERO_WIDTH.test(character)) width += WIDE.test(character) ? 2 : 1
  }
  return width
}

export function withoutColour(text: string): string {
  return text.replace(COLOUR, '')
}

/** Removes characters that could control a terminal: text may come from other machines. */
export function withoutControl(text: string): string {
  return PLAIN.test(text) ? text : text.replace(CONTROL, '')
}

/** Like {@link withoutControl}, but keeps codes of colours. */
export function withoutControlExceptColour(text: string): string {
  return PLAIN.test(text) ? text : text.replace(CONTROL_EXCEPT_COLOUR, '')
}

/** Wraps lines at spaces and splits words that are longer than a line. Existing line breaks stay. */
export function wrapText(text: string, width: number): string[] {
  return text.split('\n').flatMap(line => (textWidth(line) <= width ? [line] : wrapLine(line, Math.max(width, 1))))
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = []
  let current = ''
  for (const word of line.split(' ').flatMap(word => pieces(word, width))) {
    const longer = current === '' ? word : `${current} ${word}`
    if (textWidth(longer) <= width || current === '') current = longer
    else {
      lines.push(current)
      current = word
    }
  }
  return [...lines, current]
}

function pieces(word: string, width: number): string[] {
  if (textWidth(word) <= width) return [word]
  const parts: string[] = []
  let part = ''
  for (const character of word) {
    if (part !== '' && textWidth(part + character) > width) {
      parts.push(part)
      part = ''
    }
    part += character
  }
  return [...parts, part]
}
