import type { CommandIo } from '@svc/plugin-sdk'

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[2J'
const LEAVE = '\x1b[?25h\x1b[?1049l'
/** Synchronized output: terminals that support it show a frame only once it is complete. */
const BEGIN_FRAME = '\x1b[?2026h\x1b[H'
const END_FRAME = '\x1b[J\x1b[?2026l'
const END_LINE = '\x1b[K'
const CTRL_C = '\x03'
const DEFAULT_SIZE = { columns: 80, rows: 24 }

type Input = CommandIo['stdin'] & { setRawMode?(on: boolean): unknown }
type Output = CommandIo['stdout'] & { readonly rows?: number }

/** Alternate screen of the terminal; closing it restores the previous contents. */
export class Screen {
  readonly #input: Input
  readonly #output: Output
  readonly #onData: (data: Buffer | string) => void
  readonly #onResize: () => void
  /** Restores the terminal, however the process ends. */
  readonly #onExit = (): void => void this.#output.write(LEAVE)

  constructor(io: Pick<CommandIo, 'stdin' | 'stdout'>, onKey: (key: string) => void, onResize: () => void) {
    this.#input = io.stdin
    this.#output = io.stdout
    this.#onResize = onResize
    this.#onData = data => {
      for (const key of data.toString()) onKey(key === CTRL_C ? 'q' : key)
    }
    this.#output.write(ENTER)
    process.on('exit', this.#onExit)
    this.#output.on('resize', this.#onResize)
    if (this.#input.isTTY === true) {
      this.#input.setRawMode?.(true)
      this.#input.on('data', this.#onData)
      this.#input.resume()
    }
  }

  get size(): { readonly columns: number; readonly rows: number } {
    return { columns: this.#output.columns || DEFAULT_SIZE.columns, rows: this.#output.rows || DEFAULT_SIZE.rows }
  }

  /** Overwrites the screen line by line, without clearing it first, so that it does not flicker. */
  draw(lines: readonly string[]): void {
    this.#output.write(`${BEGIN_FRAME}${lines.map(line => line + END_LINE).join('\r\n')}${END_FRAME}`)
  }

  close(): void {
    process.off('exit', this.#onExit)
    this.#output.off('resize', this.#onResize)
    if (this.#input.isTTY === true) {
      this.#input.off('data', this.#onData)
      this.#input.setRawMode?.(false)
      this.#input.pause()
    }
    this.#output.write(LEAVE)
  }
}
