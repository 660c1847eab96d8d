/** Buffered bytes of a stream of lines. Holds data only, so that it can pass from one unit to the next. */
export interface LineState {
  pieces: Buffer[]
  size: number
  /** Inside a line that was too long: everything up to its end is dropped. */
  skipping: boolean
}

export function newLineState(): LineState {
  return { pieces: [], size: 0, skipping: false }
}

/** A complete line without its newline, or null where a line went over the limit. */
export type Line = Buffer | null

const NEWLINE = 10

/** Lines that a chunk completes, oversized ones reported at the byte that goes over. Nothing over the limit is kept. */
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

/** False when these bytes take the line over the limit. */
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
