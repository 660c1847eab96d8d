import { Worker } from 'node:worker_threads'
import { errorMessage } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import type { ScoredRow, SignBlock, VectorBlock } from './scan.ts'
import type { ScanReply, ScanRequest } from './scan-worker-main.ts'

/** Built program of the thread, because threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/scan-worker.cjs' : './scan-worker.cjs',
  import.meta.url
)
/** The thread ends when it was idle for this time. */
const IDLE_MS = 60_000

interface Pending {
  resolve(rows: readonly ScoredRow[]): void
  reject(error: unknown): void
}

/** Thread that compares vectors, so that a large comparison does not block others. It starts with the first one. */
export class ScanThread {
  #worker: Worker | null = null
  /** Comparisons of the current thread. */
  #pending = new Map<number, Pending>()
  #calls = 0
  #idle: NodeJS.Timeout | undefined

  /** Compares all rows, or with `signs` the nearest. Blocks must be in shared memory. Throws `SRH_INDEX_THREAD_ENDED`. */
  scan(
    block: VectorBlock,
    query: Float32Array,
    k: number,
    signs: SignBlock | null = null
  ): Promise<readonly ScoredRow[]> {
    clearTimeout(this.#idle)
    this.#worker ??= this.#start()
    const worker = this.#worker
    const id = ++this.#calls
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      worker.ref()
      worker.postMessage({ id, block, signs, query, k } satisfies ScanRequest)
    })
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle)
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #start(): Worker {
    const worker = new Worker(SCRIPT, { execArgv: [] })
    // A thread that was closed ends later than the next one starts.
    const pending = new Map<number, Pending>()
    this.#pending = pending
    let reason = 'it was ended'
    worker.on('message', ({ id, rows }: ScanReply) => {
      pending.get(id)?.resolve(rows)
      pending.delete(id)
      if (pending.size > 0 || this.#worker !== worker) return
      worker.unref()
      this.#idle = setTimeout(() => void this.close(), IDLE_MS).unref()
    })
    worker.on('error', error => {
      reason = errorMessage(error)
    })
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = null
      const error = searchErrors.create('SRH_INDEX_THREAD_ENDED', `the thread that compares vectors: ${reason}`)
      for (const { reject } of pending.values()) reject(error)
      pending.clear()
    })
    worker.unref()
    return worker
  }
}
