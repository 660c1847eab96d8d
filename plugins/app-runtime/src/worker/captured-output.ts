import type { LogLine } from '../interpreter/host.ts'

/** Line that a program printed or logged. */
export interface OutputLine {
  readonly kind: 'print' | LogLine['level']
  readonly text: string
}

/** Keeps the first lines of a program, up to a number of characters. */
export class CapturedOutput {
  readonly lines: OutputLine[] = []
  /** True if a line was omitted. */
  isCut = false
  #left: number

  constructor(maxCharacters: number) {
    this.#left = maxCharacters
  }

  add(kind: OutputLine['kind'], text: string): void {
    this.#left -= text.length + 1
    if (this.#left < 0) this.isCut = true
    else this.lines.push({ kind, text })
  }
}

/** Returns the text of a log line, with its fields. */
export function lineText({ text, fields = {} }: Pick<LogLine, 'text' | 'fields'>): string {
  return (
    text +
    Object.entries(fields)
      .map(([name, value]) => `  ${name}=${JSON.stringify(value)}`)
      .join('')
  )
}
