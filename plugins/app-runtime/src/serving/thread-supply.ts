import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { PluginContext } from '@svc/plugin-sdk'
import { ProgramWorker } from '../threads/program-worker.ts'
import type { Rehearsal } from './messages.ts'

/** The built script, because threads cannot load TypeScript. */
const SCRIPT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/serving-worker.cjs' : './serving-worker.cjs', import.meta.url)
)

const STACK_MB = 64

/** Delay in milliseconds before the next thread is started, so that it does not slow down the loaded program. */
const PREPARE_MS = 150

type KeepingContext = Pick<PluginContext, 'keep' | 'background'>

/**
 * Supplies threads without a program. One idle thread outlives a reload of the plugin and waits for the next server,
 * because starting a thread takes longer than all other steps of a reload.
 */
export class ThreadSupply {
  readonly #ctx: KeepingContext
  readonly #heapMb: number
  /** Key of threads with the same script and memory limit. */
  readonly #kind: string
  readonly #state: { next: number }
  #waiting: ProgramWorker | null = null

  static async open(ctx: KeepingContext, heapMb: number): Promise<ThreadSupply> {
    const kind = `program thread of ${heapMb} MB, ${statSync(SCRIPT).mtimeMs}`
    const state = await ctx.keep(
      kind,
      () => ({ next: 0 }),
      () => undefined
    )
    return new ThreadSupply(ctx, heapMb, kind, state)
  }

  private constructor(ctx: KeepingContext, heapMb: number, kind: string, state: { next: number }) {
    this.#ctx = ctx
    this.#heapMb = heapMb
    this.#kind = kind
    this.#state = state
  }

  /** Returns the waiting thread, or a new one. */
  async take(): Promise<ProgramWorker> {
    const worker = await this.#hold(this.#state.next++)
    // A thread id of -1 means that the thread has ended.
    return worker.threadId === -1 ? this.start() : worker
  }

  start(): ProgramWorker {
    return new ProgramWorker(SCRIPT, {
      // The thread needs none of the loaders and flags of this process.
      execArgv: [],
      // The interpreter checks the heap and reports the position. The thread's limit is higher, in case that fails.
      resourceLimits: { maxOldGenerationSizeMb: 2 * this.#heapMb + 64, stackSizeMb: STACK_MB }
    })
  }

  /** The thread that waits for the next server; null if there is none. */
  get waiting(): ProgramWorker | null {
    return this.#waiting?.threadId === -1 ? null : this.#waiting
  }

  /** Starts and warms up a thread for the next server. */
  prepare(rehearsal: Omit<Rehearsal, 'kind'>): void {
    this.#ctx.background('the next thread', async signal => {
      await new Promise<void>(resolve => {
        const timer = setTimeout(resolve, PREPARE_MS)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          resolve()
        })
      })
      if (signal.aborted) return
      const worker = await this.#hold(this.#state.next)
      this.#waiting = worker
      worker.postMessage({ kind: 'rehearsal', ...rehearsal } satisfies Rehearsal)
    })
  }

  #hold(number: number): Promise<ProgramWorker> {
    return this.#ctx.keep(
      `${this.#kind}, ${number}`,
      () => {
        const worker = this.start()
        // The next server adds a listener; without one, an error would crash the process.
        worker.on('error', () => undefined)
        return worker
      },
      worker => worker.end()
    )
  }
}
