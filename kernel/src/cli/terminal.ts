import { styleText } from 'node:util'

type Colour = 'red' | 'green' | 'yellow' | 'cyan' | 'bold' | 'dim'

/** Properties of an output stream. */
export interface Terminal {
  /** Line width in characters; Infinity for files and pipes. */
  readonly columns: number
  paint(colour: Colour, text: string): string
}

/** Output stream such as `process.stdout`, as {@link terminalOf} uses it. */
export interface OutputStream {
  readonly isTTY?: boolean
  readonly columns?: number
  /** Node's check, which respects `NO_COLOR`, `NODE_DISABLE_COLORS`, `FORCE_COLOR` and `TERM=dumb`. */
  hasColors?(): boolean
}

export function terminalOf(stream: OutputStream): Terminal {
  const colourful = stream.isTTY === true && stream.hasColors?.() === true
  return {
    columns: stream.isTTY === true ? (stream.columns ?? 80) : Number.POSITIVE_INFINITY,
    paint: (colour, text) => (colourful ? styleText(colour, text, { validateStream: false }) : text)
  }
}
