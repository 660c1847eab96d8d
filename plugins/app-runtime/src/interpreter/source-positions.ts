import type { ErrorPlace } from '@svc/plugin-sdk'

/** Lines and columns of byte offsets in a source text. Columns count characters, from 1. */
export class SourcePositions {
  readonly path: string
  readonly #bytes: Buffer

  constructor(path: string, text: string) {
    this.path = path
    this.#bytes = Buffer.from(text)
  }

  place(at: number): Required<Pick<ErrorPlace, 'file' | 'line' | 'column'>> {
    const before = this.#bytes.subarray(0, at).toString('utf8')
    const lines = before.split(/\r\n|\r|\n/)
    return { file: this.path, line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 }
  }

  text(at: number): string {
    if (at < 0) return this.path
    const { file, line, column } = this.place(at)
    return `${file}:${line}:${column}`
  }
}
