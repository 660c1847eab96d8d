import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { PluginContext } from '@svc/plugin-sdk'
import { ProgramWorker } from '../threads/program-worker.ts'
import type { Rehearsal } from './messages.ts'

/** The script is next to the compiled plugin; threads cannot load TypeScript. */
const SCRIPT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/serving-worker.cjs' : './serving-worker.cjs', import.meta.url)
)

const STACK_MB = 64

/** Delay before the next thread is started, in milliseconds: a program that was just loaded has priority. */
const PREPARE_MS = 150

type KeepingContext = Pick<PluginContext, 'keep' | 'background'>

/**
 * Idle threads without a program. One waits for the next server: starting a thread takes longer than all other steps of
 * a reload, so it outlives a reload of the plugin.
 */
export class ThreadSupply {
  readonly #ctx: KeepingContext
  readonly #heapMb: number
  /** Key of interchangeable threads, with their count. */
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

  /** The waiting thread, or a new one. */
  async take(): Promise<ProgramWorker> {
    const worker = await this.#hold(this.#state.next++)
    // A thread that ended while waiting has no id.
    return worker.threadId === -1 ? this.start() : worker
  }

  start(): ProgramWorker {
    return new ProgramWorker(SCRIPT, {
      // Without the loaders and flags of this process.
      execArgv: [],
      // The program checks its heap itself and reports the position; the thread's limit is a backstop.
      resourceLimits: { maxOldGenerationSizeMb: 2 * this.#heapMb + 64, stackSizeMb: STACK_MB }
    })
  }

  /** The thread that waits for this unit's successor; null without one. */
  get waiting(): ProgramWorker | null {
    return this.#waiting?.threadId === -1 ? null : this.#waiting
  }

  /** Keeps a thread for this unit's successor, and warms it up. */
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
        // Its next owner adds a listener.
        worker.on('error', () => undefined)
        return worker
      },
      worker => worker.end()
    )
  }
}
