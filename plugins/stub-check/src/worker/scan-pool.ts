import { Worker } from 'node:worker_threads'
import { errorMessage } from '@svc/plugin-sdk'
import type { ScanOptions } from '../engine/scan-file.ts'
import { emptyScan } from '../engine/scan-file.ts'
import { stubCheckErrors } from '../errors.ts'
import type { ScanItem, ScanReply, ScanRequest, ScanResult, ThreadReady, WorkerData } from './protocol.ts'

/** Built program of the threads, because threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/scan-worker.cjs' : './scan-worker.cjs',
  import.meta.url
)
const MAX_HEAP_MB = 512
const BATCH = 48
/** Idle threads end after this time. */
const IDLE_MS = 20_000

export interface PoolOptions {
  readonly threads: number
  readonly maxBytes: number
  /** Time limit per file in milliseconds, after which its thread is ended. */
  readonly fileMs: number
}

interface Job {
  readonly items: readonly ScanItem[]
  readonly options: ScanOptions
  readonly maxBytes: number
  readonly fileMs: number
  readonly done: (results: readonly ScanResult[]) => void
  readonly failed: (error: unknown) => void
  readonly signal: AbortSignal | undefined
}

/** Worker threads that scan texts. They start with the first scan, and end when they are idle. */
export class ScanPool {
  readonly #settings: () => PoolOptions
  readonly #queue: Job[] = []
  readonly #threads = new Set<ScanThread>()
  #isClosed = false

  constructor(settings: () => PoolOptions) {
    this.#settings = settings
  }

  /**
   * Scans items; the results have their order. `onBatch` receives the number of finished items. Rejects with the reason of an
   * aborted signal, and with `STB_CLOSED` after {@link close}.
   */
  async scan(
    items: readonly ScanItem[],
    options: ScanOptions,
    signal?: AbortSignal,
    onBatch?: (done: number) => void
  ): Promise<readonly ScanResult[]> {
    const batches: Promise<readonly ScanResult[]>[] = []
    let finished = 0
    for (let at = 0; at < items.length; at += BATCH) {
      const batch = items.slice(at, at + BATCH)
      const scanned = this.#add(batch, options, signal)
      batches.push(
        scanned.then(results => {
          finished += results.length
          onBatch?.(finished)
          return results
        })
      )
    }
    return (await Promise.all(batches)).flat()
  }

  /** Ends all threads. Waiting scans reject. */
  async close(): Promise<void> {
    this.#isClosed = true
    const error = stubCheckErrors.create('STB_CLOSED', 'the stub check ends')
    for (const job of this.#queue.splice(0)) job.failed(error)
    await Promise.all([...this.#threads].map(thread => thread.end()))
  }

  #add(
    items: readonly ScanItem[],
    options: ScanOptions,
    signal: AbortSignal | undefined
  ): Promise<readonly ScanResult[]> {
    return new Promise((done, failed) => {
      if (this.#isClosed) return failed(stubCheckErrors.create('STB_CLOSED', 'the stub check has ended'))
      const { maxBytes, fileMs } = this.#settings()
      this.#queue.push({ items, options, maxBytes, fileMs, done, failed, signal })
      this.#assign()
    })
  }

  #assign(): void {
    for (;;) {
      const [job] = this.#queue
      if (job === undefined || this.#isClosed) return
      if (job.signal?.aborted === true) {
        this.#queue.shift()
        job.failed(job.signal.reason)
        continue
      }
      const thread = [...this.#threads].find(each => each.isFree) ?? this.#start()
      if (thread === null) return
      this.#queue.shift()
      void this.#run(thread, job)
    }
  }

  #start(): ScanThread | null {
    return this.#threads.size >= this.#settings().threads ? null : this.#replacement()
  }

  async #run(thread: ScanThread, job: Job): Promise<void> {
    try {
      job.done(await this.#scanBatch(thread, job))
    } catch (error) {
      job.failed(error)
    }
    this.#assign()
  }

  /** Scans a batch. An item that hangs or ends its thread gets the state `timed_out`; the others are scanned again. */
  async #scanBatch(first: ScanThread, job: Job): Promise<readonly ScanResult[]> {
    const results: ScanResult[] = []
    let items = job.items
    let thread: ScanThread | null = first
    while (items.length > 0) {
      job.signal?.throwIfAborted()
      thread ??= this.#replacement()
      const { options, maxBytes } = job
      const outcome = await thread.scan({ items, options, maxBytes }, job.fileMs)
      if ('results' in outcome) return [...results, ...outcome.results]
      if ('error' in outcome) throw outcome.error
      if (this.#isClosed) throw stubCheckErrors.create('STB_CLOSED', 'the stub check ends')
      // The items before the one that failed are repeated with a new thread, without it.
      const failed = items[outcome.failedAt] as ScanItem
      const before = items.slice(0, outcome.failedAt)
      thread = null
      if (before.length > 0) {
        thread = this.#replacement()
        const again = await thread.scan({ items: before, options, maxBytes }, job.fileMs)
        if (!('results' in again))
          throw stubCheckErrors.create('STB_THREAD_ENDED', `the scan of ${failed.path} ended its thread twice`)
        results.push(...again.results)
      }
      results.push({ ...emptyScan(failed.path, 'timed_out'), digest: '' })
      items = items.slice(outcome.failedAt + 1)
    }
    return results
  }

  #replacement(): ScanThread {
    const thread = new ScanThread(IDLE_MS, () => {
      this.#threads.delete(thread)
      this.#assign()
    })
    this.#threads.add(thread)
    return thread
  }
}

type Outcome = ScanReply | { readonly failedAt: number } | { readonly error: unknown }

class ScanThread {
  readonly #worker: Worker
  readonly #progress = new Int32Array(new SharedArrayBuffer(4))
  readonly #idleMs: number
  readonly #onEnd: () => void
  #settle: ((outcome: Outcome) => void) | null = null
  #idle: NodeJS.Timeout | undefined
  #isEnding = false
  #isReady = false
  #error: unknown = null

  constructor(idleMs: number, onEnd: () => void) {
    this.#idleMs = idleMs
    this.#onEnd = onEnd
    const data: WorkerData = { progress: this.#progress.buffer as SharedArrayBuffer }
    this.#worker = new Worker(SCRIPT, {
      workerData: data,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB }
    })
    this.#worker.on('message', (message: ScanReply | ThreadReady) => {
      if ('ready' in message) this.#isReady = true
      else this.#settle?.(message)
    })
    this.#worker.on('error', error => {
      this.#error = error
    })
    this.#worker.on('exit', () => this.#lost())
    this.#worker.unref()
  }

  get isFree(): boolean {
    return this.#settle === null && !this.#isEnding
  }

  /** Scans a batch. Resolves to the index of the item that took longer than `fileMs`, or that ended the thread. */
  async scan(request: ScanRequest, fileMs: number): Promise<Outcome> {
    clearTimeout(this.#idle)
    this.#worker.ref()
    Atomics.store(this.#progress, 0, 0)
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<Outcome>(resolve => {
        this.#settle = resolve
        let seen = -1
        let since = performance.now()
        const interval = Math.max(50, Math.min(fileMs / 4, 1_000))
        timer = setInterval(() => {
          const at = Atomics.load(this.#progress, 0)
          if (at !== seen) {
            seen = at
            since = performance.now()
          } else if (performance.now() - since > fileMs) this.#stop()
        }, interval)
        this.#worker.postMessage(request)
      })
    } finally {
      clearInterval(timer)
      this.#settle = null
      this.#worker.unref()
      this.#idle = setTimeout(() => void this.#worker.terminate(), this.#idleMs).unref()
    }
  }

  async end(): Promise<void> {
    clearTimeout(this.#idle)
    this.#isEnding = true
    this.#worker.ref()
    await this.#worker.terminate()
  }

  #stop(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    void this.#worker.terminate()
  }

  #lost(): void {
    clearTimeout(this.#idle)
    this.#isEnding = true
    this.#settle?.(this.#isReady ? { failedAt: Atomics.load(this.#progress, 0) } : { error: this.#startFailure() })
    this.#onEnd()
  }

  #startFailure(): unknown {
    const hint = 'run `svc plugins build` on the plugin, or install it again'
    if (this.#error === null)
      return stubCheckErrors.create('STB_THREAD_ENDED', 'a thread of the scan did not start within the time per file', {
        hint: 'raise plugins.stub-check.file_timeout_ms'
      })
    return stubCheckErrors.create(
      'STB_THREAD_ENDED',
      `a thread of the scan could not start: ${errorMessage(this.#error)}`,
      { hint }
    )
  }
}
