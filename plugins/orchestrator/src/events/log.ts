import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AgentEvent } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'

/** Maximum lines that wait for an unwritable file; beyond it, the oldest are dropped and counted. */
const WAITING = 20_000
/** Maximum size of one write, in characters. */
const PIECE = 262_144
const RETRY_MS = 1_000
const NEWLINE = 10

export interface EventLogOptions {
  /** Absolute path; the file and its folders are created. */
  readonly file: string
  readonly log: Logger
  /** Maximum waiting lines; default 20,000. */
  readonly waiting?: number
  /** Milliseconds between retries; default 1,000. */
  readonly retryMs?: number
}

/**
 * A file of events, one JSON object a line, in their order. Several processes may add to one file. Writers of events
 * never wait. An unwritable file is reported once and retried.
 *
 * Each write first checks the file's name. If the file was renamed or deleted, as by log rotation, it is closed and a
 * new one created; a truncated one continues from its beginning.
 */
export class EventLog {
  readonly #options: EventLogOptions
  #lines: string[] = []
  #dropped = 0
  #handle: FileHandle | null = null
  #running: Promise<void> | null = null
  #failed = false
  #wake: (() => void) | null = null
  #closed = false

  constructor(options: EventLogOptions) {
    this.#options = options
  }

  write(event: AgentEvent): void {
    if (this.#closed) return
    this.#lines.push(`${JSON.stringify(event)}\n`)
    if (this.#lines.length > (this.#options.waiting ?? WAITING)) {
      this.#lines.shift()
      this.#dropped += 1
    }
    this.#running ??= Promise.resolve().then(() => this.#run())
  }

  /** Waiting events are written, unless that fails once more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#wake?.()
    await this.#running
    await this.#handle?.close().catch(() => {})
    this.#handle = null
  }

  async #run(): Promise<void> {
    let piece: BufferedLines | null = null
    while (piece !== null || this.#lines.length > 0) {
      const closing = this.#closed
      piece ??= new BufferedLines(this.#nextLines())
      try {
        await this.#append(piece)
        piece = null
        this.#recovered()
      } catch (error) {
        this.#report(error)
        if (closing) break
        await this.#rest()
      }
    }
    this.#running = null
  }

  #nextLines(): Buffer {
    let count = 0
    for (let size = 0; count < this.#lines.length && size < PIECE; count += 1) size += this.#lines[count]?.length ?? 0
    return Buffer.from(this.#lines.splice(0, count).join(''))
  }

  async #append(piece: BufferedLines): Promise<void> {
    const handle = await this.#current(piece)
    while (!piece.isWritten) {
      const { bytesWritten } = await handle.write(piece.bytes, piece.written)
      piece.written += bytesWritten
    }
  }

  /** The file that has the name now. */
  async #current(piece: BufferedLines): Promise<FileHandle> {
    const { file } = this.#options
    if (this.#handle !== null) {
      const [ours, named] = await Promise.all([this.#handle.stat(), stat(file).catch(() => null)])
      if (named !== null && ours.ino === named.ino && ours.dev === named.dev) return this.#handle
      await this.#handle.close()
      this.#handle = null
      piece.backToLine()
    }
    await mkdir(dirname(file), { recursive: true })
    const handle = await open(file, 'a+')
    this.#handle = handle
    if (await endsWithinLine(handle)) await handle.write('\n')
    return handle
  }

  async #rest(): Promise<void> {
    await new Promise<void>(resolve => {
      const timer = setTimeout(resolve, this.#options.retryMs ?? RETRY_MS)
      timer.unref()
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (this.#closed) this.#wake()
    })
    this.#wake = null
  }

  #report(error: unknown): void {
    if (this.#failed) return
    this.#failed = true
    const { log, file } = this.#options
    log.warn(`events cannot be written to ${file}`, { reason: errorMessage(error) })
  }

  #recovered(): void {
    if (!this.#failed) return
    this.#failed = false
    const { log, file } = this.#options
    log.info(`events are written to ${file} again`, { dropped: this.#dropped })
    this.#dropped = 0
  }
}

/** Lines on their way into a file. */
class BufferedLines {
  readonly bytes: Buffer
  written = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get isWritten(): boolean {
    return this.written === this.bytes.length
  }

  /** A line that was partly written to another file is written again as a whole. */
  backToLine(): void {
    this.written = this.written === 0 ? 0 : this.bytes.lastIndexOf(NEWLINE, this.written - 1) + 1
  }
}

/** Whether the file ends within a line. */
async function endsWithinLine(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat()
  if (size === 0) return false
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== NEWLINE
}
