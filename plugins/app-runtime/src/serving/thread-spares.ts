import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'

/** The script lies beside the compiled plugin; threads take no sources. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/serving-worker.cjs' : './serving-worker.cjs',
  import.meta.url
)

const STACK_MB = 64

/** Milliseconds after which a thread that was taken is made up for: until then whoever took it has the processor. */
const REFILL_MS = 150

/**
 * Threads that wait for a program: starting one takes longer than all else that a changed program needs before it serves.
 * They outlive a reload of the plugin.
 */
export class ThreadSpares {
  readonly #heapMb: number
  #spare: Worker | null = null
  #refill: NodeJS.Timeout | null = null
  #isClosed = false

  /** Tells apart threads that cannot stand in for each other. */
  static keyOf(heapMb: number): string {
    return `program threads ${heapMb} MB ${statSync(SCRIPT).mtimeMs}`
  }

  constructor(heapMb: number) {
    this.#heapMb = heapMb
  }

  /** A thread that runs nothing yet. Whoever takes it ends it. */
  take(): Worker {
    const spare = this.#spare
    this.#spare = null
    if (!this.#isClosed) {
      this.#refill ??= setTimeout(() => {
        this.#refill = null
        this.#spare ??= this.#start()
      }, REFILL_MS).unref()
    }
    if (spare === null) return start(this.#heapMb)
    spare.removeAllListeners()
    spare.ref()
    return spare
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#refill !== null) clearTimeout(this.#refill)
    await this.#spare?.terminate()
  }

  #start(): Worker {
    const worker = start(this.#heapMb)
    worker.unref()
    // One that ends before it is taken is none.
    const forget = (): void => {
      if (this.#spare === worker) this.#spare = null
    }
    worker.once('error', forget)
    worker.once('exit', forget)
    return worker
  }
}

function start(heapMb: number): Worker {
  return new Worker(fileURLToPath(SCRIPT), {
    // Without the loaders and flags that the process was started with.
    execArgv: [],
    // The program looks at its heap itself, and says where it was; the thread's limit is for what gets past that.
    resourceLimits: { maxOldGenerationSizeMb: 2 * heapMb + 64, stackSizeMb: STACK_MB }
  })
}
