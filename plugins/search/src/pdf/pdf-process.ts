import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { searchErrors } from '../errors.ts'
import type { ReadFile, ReadItem } from '../indexing/protocol.ts'
import { skipped } from '../indexing/read.ts'

/** Built program of the process, since it is not run from sources. */
const SCRIPT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/pdf-program.cjs' : './pdf-program.cjs', import.meta.url)
)
/** Variables that Node.js needs on some systems. */
const PASSED = /^(?:PATH|LANG|LC_\w+|TZ|TMPDIR|TEMP|TMP|SystemRoot|LD_LIBRARY_PATH)$/i
/** The process ends when it was idle for this time. */
const IDLE_MS = 10_000

export interface PdfRequest extends ReadItem {
  readonly root: string
  readonly maxBytes: number
  readonly maxPages: number
  /** Time limit of a page in milliseconds. */
  readonly stepMs: number
}

/** Whether a file is read as a PDF document, by its name. */
export function isPdf(path: string): boolean {
  return /\.pdf$/i.test(path)
}

/** Answer of the process. `isOver`: the process ends, as the document exceeded a limit. */
export interface PdfReply {
  readonly file: ReadFile
  readonly isOver: boolean
}

/**
 * Process that reads PDF documents with limits of time and memory, one at a time. It starts with the first document. A
 * document that ends the process is skipped.
 */
export class PdfProcess {
  #running: Running | null = null
  #tail: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  /**
   * Rejects with the reason of `signal`, `SRH_INDEX_CLOSED`, and `SRH_INDEX_THREAD_ENDED` if the process cannot be
   * started.
   */
  read(request: PdfRequest, signal: AbortSignal): Promise<ReadFile> {
    const result = this.#tail.then(() => this.#read(request, signal))
    this.#tail = result.catch(() => undefined)
    return result
  }

  /** Ends the process. Waiting requests reject with `SRH_INDEX_CLOSED`. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#end(closedError())
    await this.#tail
  }

  async #read(request: PdfRequest, signal: AbortSignal): Promise<ReadFile> {
    if (this.#isClosed) throw closedError()
    signal.throwIfAborted()
    clearTimeout(this.#idle)
    if (this.#running === null || this.#running.isOver) this.#running = new Running()
    const stop = (): void => this.#end(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    try {
      return await this.#running.ask(request)
    } finally {
      signal.removeEventListener('abort', stop)
      this.#idle = setTimeout(() => this.#end(closedError()), IDLE_MS).unref()
    }
  }

  #end(reason: unknown): void {
    clearTimeout(this.#idle)
    this.#running?.kill(reason)
    this.#running = null
  }
}

class Running {
  readonly #child: ChildProcess
  #settle: ((outcome: { readonly file: ReadFile } | { readonly error: unknown }) => void) | null = null
  #request: PdfRequest | null = null
  #isReady = false
  isOver = false

  constructor() {
    this.#child = fork(SCRIPT, [], {
      // Variables may be secrets, and documents may be hostile.
      env: Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED.test(name))),
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc']
    })
    this.#child.on('message', (reply: PdfReply | 'ready') => {
      if (reply === 'ready') this.#isReady = true
      else {
        this.isOver = reply.isOver
        this.#settle?.({ file: reply.file })
      }
    })
    this.#child.once('error', error => this.#failed(error.message))
    this.#child.once('exit', (code, signal) => this.#exited(code, signal))
    this.#child.unref()
    this.#child.channel?.unref()
  }

  async ask(request: PdfRequest): Promise<ReadFile> {
    this.#request = request
    this.#child.ref()
    this.#child.channel?.ref()
    try {
      const outcome = await new Promise<{ readonly file: ReadFile } | { readonly error: unknown }>(resolve => {
        this.#settle = resolve
        this.#child.send(request, error => {
          // The exit of the process says more.
          if (error !== null && this.#child.connected) this.#failed(error.message)
        })
      })
      if ('error' in outcome) throw outcome.error
      return outcome.file
    } finally {
      this.#settle = null
      this.#child.unref()
      this.#child.channel?.unref()
    }
  }

  kill(reason: unknown): void {
    this.isOver = true
    this.#child.kill('SIGKILL')
    this.#settle?.({ error: reason })
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    this.isOver = true
    if (!this.#isReady || this.#request === null) {
      this.#failed(`it ended with ${signal ?? code}`)
      return
    }
    // Node.js aborts without memory, and the system kills.
    const reason = signal === 'SIGABRT' || signal === 'SIGKILL' ? 'out_of_memory' : 'malformed'
    this.#settle?.({ file: skipped(this.#request.path, reason, '') })
  }

  #failed(cause: string): void {
    this.isOver = true
    const error = searchErrors.create(
      'SRH_INDEX_THREAD_ENDED',
      `the process that reads PDF files could not start: ${cause}`,
      {
        hint: 'run svc plugins build on the plugin, or install it again'
      }
    )
    this.#settle?.({ error })
  }
}

function closedError(): Error {
  return searchErrors.create('SRH_INDEX_CLOSED', 'the index is closed: the plugin search ends')
}
