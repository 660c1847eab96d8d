import { Worker } from 'node:worker_threads'
import { errorMessage } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import type {
  CheckReply,
  CheckRequest,
  IndexReply,
  IndexRequest,
  ReadFile,
  ReadRequest,
  WalkReply,
  WalkRequest,
  WorkerData
} from './protocol.ts'
import { skipped } from './read.ts'

/** Built program of the thread, because threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/index-worker.cjs' : './index-worker.cjs',
  import.meta.url
)
const MAX_HEAP_MB = 512
/** The thread ends when it was idle for this time. */
const IDLE_MS = 20_000
const POLL_MS = 100

/** `hungAt`: the index of the item in work when the thread was ended. */
type Outcome = { readonly reply: IndexReply } | { readonly hungAt: number } | { readonly failed: unknown }

/**
 * Thread that lists and reads files, one request at a time. It starts with the first request. When it makes no step for
 * `stepMs`, it is ended.
 */
export class IndexThread {
  readonly #stepMs: () => number
  #worker: Running | null = null
  #tail: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(stepMs: () => number) {
    this.#stepMs = stepMs
  }

  walk(request: Omit<WalkRequest, 'kind'>): Promise<WalkReply> {
    return this.#inTurn(async () => (await this.#must({ kind: 'walk', ...request })) as WalkReply)
  }

  check(request: Omit<CheckRequest, 'kind'>): Promise<CheckReply> {
    return this.#inTurn(async () => (await this.#must({ kind: 'check', ...request })) as CheckReply)
  }

  /** Reads files. One that hangs or ends the thread gets the reason `timed_out`, and the others are read again. */
  read(request: Omit<ReadRequest, 'kind'>): Promise<readonly ReadFile[]> {
    return this.#inTurn(async () => {
      const hung = new Set<string>()
      for (;;) {
        const items = request.items.filter(({ path }) => !hung.has(path))
        const outcome = await this.#ask({ kind: 'read', ...request, items })
        if ('failed' in outcome) throw outcome.failed
        if ('hungAt' in outcome) {
          const item = items[outcome.hungAt]
          if (item !== undefined) hung.add(item.path)
          continue
        }
        const files = 'files' in outcome.reply ? (outcome.reply.files as readonly ReadFile[]) : []
        return [...files, ...[...hung].map(path => skipped(path, 'timed_out', ''))]
      }
    })
  }

  /** Ends the thread. Waiting requests reject with `SRH_INDEX_CLOSED`. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.end()
  }

  /** Runs one request after another. */
  #inTurn<A>(run: () => Promise<A>): Promise<A> {
    const result = this.#tail.then(run)
    this.#tail = result.catch(() => undefined)
    return result
  }

  async #must(request: IndexRequest): Promise<IndexReply> {
    const outcome = await this.#ask(request)
    if ('reply' in outcome) return outcome.reply
    if ('failed' in outcome) throw outcome.failed
    throw searchErrors.create(
      'SRH_INDEX_THREAD_ENDED',
      `the list of files: its thread made no step for ${this.#stepMs()} ms`,
      { hint: 'look for patterns with many * in the .gitignore files, or raise plugins.search.index_step_ms' }
    )
  }

  async #ask(request: IndexRequest): Promise<Outcome> {
    if (this.#isClosed) throw closedError()
    if (this.#worker === null || this.#worker.isOver) this.#worker = new Running()
    const outcome = await this.#worker.ask(request, this.#stepMs())
    if (this.#isClosed && !('reply' in outcome)) throw closedError()
    return outcome
  }
}

function closedError(): Error {
  return searchErrors.create('SRH_INDEX_CLOSED', 'the index is closed: the plugin search ends')
}

class Running {
  readonly #progress = new Int32Array(new SharedArrayBuffer(8))
  readonly #worker: Worker
  readonly #exited: Promise<void>
  #settle: ((outcome: Outcome) => void) | null = null
  #idle: NodeJS.Timeout | undefined
  #isReady = false
  #error: unknown = null
  isOver = false

  constructor() {
    const data: WorkerData = { progress: this.#progress.buffer as SharedArrayBuffer }
    this.#worker = new Worker(SCRIPT, {
      workerData: data,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB }
    })
    this.#worker.on('message', (message: IndexReply | { readonly ready: true }) => {
      if ('ready' in message) this.#isReady = true
      else this.#settle?.({ reply: message })
    })
    this.#worker.on('error', error => {
      this.#error = error
    })
    this.#exited = new Promise(resolve =>
      this.#worker.on('exit', () => {
        this.#lost()
        resolve()
      })
    )
    this.#worker.unref()
  }

  async ask(request: IndexRequest, stepMs: number): Promise<Outcome> {
    clearTimeout(this.#idle)
    this.#worker.ref()
    Atomics.store(this.#progress, 1, 0)
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<Outcome>(resolve => {
        this.#settle = resolve
        let seen = -1
        let since = performance.now()
        timer = setInterval(
          () => {
            const steps = Atomics.load(this.#progress, 0)
            if (steps !== seen || !this.#isReady) {
              seen = steps
              since = performance.now()
            } else if (performance.now() - since > stepMs) void this.end()
          },
          Math.min(POLL_MS, stepMs)
        )
        this.#worker.postMessage(request)
      })
    } finally {
      clearInterval(timer)
      this.#settle = null
      this.#worker.unref()
      if (!this.isOver) this.#idle = setTimeout(() => void this.end(), IDLE_MS).unref()
    }
  }

  async end(): Promise<void> {
    this.isOver = true
    clearTimeout(this.#idle)
    this.#worker.ref()
    await this.#worker.terminate()
    await this.#exited
  }

  #lost(): void {
    this.isOver = true
    clearTimeout(this.#idle)
    const hungAt = Atomics.load(this.#progress, 1)
    this.#settle?.(this.#isReady ? { hungAt } : { failed: this.#startFailure() })
  }

  #startFailure(): unknown {
    const cause = this.#error === null ? 'it ended' : errorMessage(this.#error)
    return searchErrors.create('SRH_INDEX_THREAD_ENDED', `the thread that reads files could not start: ${cause}`, {
      hint: 'run svc plugins build on the plugin, or install it again'
    })
  }
}
