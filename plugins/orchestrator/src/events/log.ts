import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { AgentEvent } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'

/** Maximum lines that wait while the file cannot be written; beyond it, the oldest are dropped and counted. */
const WAITING = 20_000
/** Maximum characters of one write. */
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
 * A file of events in order, one JSON object per line. Several processes may append to one file. Publishers of events
 * never wait for it. A file that cannot be written is reported once and retried.
 *
 * Before each write, the path is checked. If the file was renamed or deleted, for example by log rotation, a new one is
 * created. A truncated file is continued from its start.
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

  /** Closes the file after one last attempt to write the waiting events. */
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

  /** Returns the file that is at the path now; opens or creates it if it has changed. */
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
    const handle = await open(file, 'a+', 0o600)
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

/** Lines of one write, and how many bytes of them are written. */
class BufferedLines {
  readonly bytes: Buffer
  written = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get isWritten(): boolean {
    return this.written === this.bytes.length
  }

  /** Goes back to the start of a partly written line, so that the new file gets the whole line. */
  backToLine(): void {
    this.written = this.written === 0 ? 0 : this.bytes.lastIndexOf(NEWLINE, this.written - 1) + 1
  }
}

/** Returns true if the file's last line has no line break. */
async function endsWithinLine(handle: FileHandle): Promise<boolean> {
  const { size } = await handle.stat()
  if (size === 0) return false
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== NEWLINE
}
