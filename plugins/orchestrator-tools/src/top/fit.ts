import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter()
// biome-ignore lint/suspicious/noControlCharactersInRegex: clients may send control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]+/g

/** Fits text into exactly `columns`: cuts it with an ellipsis, or pads it. Control characters become blanks. */
export function fit(text: string, columns: number, side: 'left' | 'right' = 'left'): string {
  const kept = cut(text.slice(0, columns * 8).replace(CONTROL, ' '), columns)
  const filling = ' '.repeat(Math.max(0, columns - stringWidth(kept)))
  return side === 'left' ? kept + filling : filling + kept
}

function cut(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text
  let kept = ''
  let width = 0
  for (const { segment } of graphemes.segment(text)) {
    const more = stringWidth(segment)
    if (width + more > columns - 1) break
    kept += segment
    width += more
  }
  return columns > 0 ? `${kept}…` : ''
}
