import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { LogFile, type LogFileOptions } from './log-file.ts'

/** Pause after a failed write. */
const RETRY_MS = 10_000

export interface RetryingFileOptions extends LogFileOptions {
  readonly log: Pick<Logger, 'error' | 'info'>
  /** Subject and verb for messages, such as `the log is`: only kept in memory while the file cannot be written. */
  readonly what: string
  /** Default: {@link RETRY_MS}. */
  readonly retryMs?: number
}

/**
 * Log file that outlives a full disk: lines that cannot be written are left out of the file, and a later line is
 * written again once there is space.
 */
export class RetryingFile {
  readonly #options: RetryingFileOptions
  readonly #file: LogFile
  #retryAt: number | null = null
  #lost = 0

  constructor(options: RetryingFileOptions) {
    this.#options = options
    this.#file = new LogFile(options)
  }

  append(lines: readonly string[]): void {
    const { path, log, what, retryMs = RETRY_MS } = this.#options
    if (this.#retryAt !== null && performance.now() < this.#retryAt) {
      this.#lost += lines.length
      return
    }
    try {
      this.#file.append(lines.join('\n'))
    } catch (error) {
      const isFirst = this.#retryAt === null
      this.#retryAt = performance.now() + retryMs
      this.#lost += lines.length
      // The file may be on a disk that was removed.
      this.#file.close()
      if (isFirst) log.error(`cannot write ${path}; ${what} only kept in memory`, { reason: errorMessage(error) })
      return
    }
    if (this.#retryAt === null) return
    const lost = this.#lost
    this.#retryAt = null
    this.#lost = 0
    log.info(`${path} is written again`, { lost_lines: lost })
  }

  /** Opens the file again at the next line, after another program moved it. */
  reopen(): void {
    this.#file.close()
  }

  close(): void {
    this.#file.close()
  }
}
