import type { Logger } from '@svc/plugin-sdk'
import { type LogEntry, parseLogEntry } from './log-entry.ts'
import type { LogFileOptions } from './log-file.ts'
import { RetryingFile } from './retrying-file.ts'
import { newRingState, Ring, type RingState } from './ring.ts'

/** Maximum memory of all log lines. */
const MAX_LOG_BYTES = 4_194_304

/** Beginning of a line of the level error or fatal, as pino writes it. */
const ERROR = /^\{"level":[56]0/

/** Log state that outlives a reload. */
export interface KeptLog {
  readonly lines: RingState<string>
  /** The plugin instance that writes the file: during a reload there are two. */
  writer: object | null
}

export function newKeptLog(): KeptLog {
  return { lines: newRingState(), writer: null }
}

export interface LogStoreOptions {
  readonly kept: KeptLog
  readonly maxLines: number
  /** Null: the log is only kept in memory. */
  readonly file: LogFileOptions | null
  readonly log: Logger
  /** Called after each line. */
  onLine(): void
}

/** Log lines of the running server: in memory, and in a file. */
export class LogStore {
  readonly ring: Ring<string>
  readonly #options: LogStoreOptions
  readonly #followers = new Set<(line: string) => void>()
  #file: RetryingFile | null
  #pending: string[] = []

  constructor(options: LogStoreOptions) {
    this.#options = options
    const { kept, maxLines, file } = options
    this.ring = new Ring({ maxItems: maxLines, maxBytes: MAX_LOG_BYTES, bytesOf: line => line.length }, kept.lines)
    this.#file = file === null ? null : new RetryingFile({ ...file, log: options.log, what: 'the log is' })
    kept.writer ??= this
  }

  /** Makes this the instance that records lines. */
  takeOver(): void {
    this.#options.kept.writer = this
  }

  add(line: string): void {
    if (this.#options.kept.writer !== this) return
    this.ring.push(line)
    this.#options.onLine()
    for (const follow of this.#followers) follow(line)
    if (this.#file === null) return
    const count = this.#pending.push(line.trimEnd())
    // The lines of one turn of the event loop are one write. An error may be the last line before a crash.
    if (ERROR.test(line)) this.#write()
    else if (count === 1) setImmediate(() => this.#write())
  }

  /** Calls the listener for each further line. Returns the unsubscribe function. */
  follow(listener: (line: string) => void): () => void {
    this.#followers.add(listener)
    return () => void this.#followers.delete(listener)
  }

  entries(): LogEntry[] {
    return parsedLines(this.ring.items())
  }

  /** Opens the file again, after another program moved it. */
  reopen(): void {
    this.#write()
    this.#file?.reopen()
  }

  close(): void {
    this.#write()
    this.#file?.close()
    this.#file = null
  }

  #write(): void {
    const lines = this.#pending
    this.#pending = []
    if (lines.length === 0) return
    this.#file?.append(lines)
  }
}

export function parsedLines(lines: readonly string[]): LogEntry[] {
  return lines.map(parseLogEntry).filter(entry => entry !== null)
}
