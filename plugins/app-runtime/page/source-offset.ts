/** Place in a text: lines and columns from 1; columns count characters, not UTF-16 units. */
export interface Span {
  readonly start_line: number
  readonly start_col: number
  readonly end_line: number
  readonly end_col: number
}

/** Returns the index of a line and column in a text. */
export function offsetOf(text: string, line: number, column: number): number {
  let offset = 0
  for (let left = line - 1; left > 0; left--) {
    const end = text.indexOf('\n', offset)
    if (end < 0) return text.length
    offset = end + 1
  }
  const near = text.slice(offset, offset + 2 * (column - 1))
  const before = Array.from(near)
    .slice(0, column - 1)
    .join('')
  return offset + before.length
}
