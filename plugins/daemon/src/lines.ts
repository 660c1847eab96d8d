/** Buffered bytes of a stream of lines. Contains only data, so that the next unit can continue it. */
export interface LineState {
  pieces: Buffer[]
  size: number
  /** True inside an oversized line, which is dropped up to its end. */
  skipping: boolean
}

export function newLineState(): LineState {
  return { pieces: [], size: 0, skipping: false }
}

/** Complete line without its newline; null for an oversized line. */
export type Line = Buffer | null

const NEWLINE = 10

/**
 * Returns the lines that a chunk completes. An oversized line is reported as soon as it exceeds the limit; its bytes
 * are dropped.
 */
export function takeLines(state: LineState, chunk: Buffer, limit: number): Line[] {
  const lines: Line[] = []
  let rest = chunk
  for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
    if (!append(state, rest.subarray(0, end), limit)) lines.push(null)
    if (!state.skipping) lines.push(Buffer.concat(state.pieces))
    state.pieces = []
    state.size = 0
    state.skipping = false
    rest = rest.subarray(end + 1)
  }
  if (!append(state, rest, limit)) lines.push(null)
  return lines
}

/** Appends bytes to the current line. Returns false if it exceeds the limit. */
function append(state: LineState, bytes: Buffer, limit: number): boolean {
  if (state.skipping || bytes.length === 0) return true
  state.size += bytes.length
  if (state.size <= limit) {
    state.pieces.push(bytes)
    return true
  }
  state.pieces = []
  state.skipping = true
  return false
}
