import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { PluginContext } from '@svc/plugin-sdk'
import { ProgramWorker } from '../threads/program-worker.ts'
import type { Rehearsal } from './messages.ts'

/** The script is next to the compiled plugin; threads take no sources. */
const SCRIPT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/serving-worker.cjs' : './serving-worker.cjs', import.meta.url)
)

const STACK_MB = 64

/** Milliseconds after which the next thread is started: until then a program that was just loaded has the processor. */
const PREPARE_MS = 150

type KeepingContext = Pick<PluginContext, 'keep' | 'background'>

/**
 * Idle threads without a program. One waits for the next server: starting it takes longer than all else that a changed
 * program needs before it serves, so it outlives a reload of the plugin.
 */
export class ThreadSupply {
  readonly #ctx: KeepingContext
  readonly #heapMb: number
  /** Identity of threads that cannot replace each other, with their count. */
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

  /** The thread that waits, or a new one. */
  async take(): Promise<ProgramWorker> {
    const worker = await this.#hold(this.#state.next++)
    // One that ended while it waited has no number.
    return worker.threadId === -1 ? this.start() : worker
  }

  start(): ProgramWorker {
    return new ProgramWorker(SCRIPT, {
      // Without the loaders and flags that the process was started with.
      execArgv: [],
      // The program looks at its heap itself, and says where it was; the thread's limit is for what gets past that.
      resourceLimits: { maxOldGenerationSizeMb: 2 * this.#heapMb + 64, stackSizeMb: STACK_MB }
    })
  }

  /** The thread that waits for who takes the place of this unit; null where none does yet. */
  get waiting(): ProgramWorker | null {
    return this.#waiting?.threadId === -1 ? null : this.#waiting
  }

  /** Keeps a thread for this unit's successor, and lets it warm up in the meantime. */
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
        // Its next owner listens; until then there is no listener.
        worker.on('error', () => undefined)
        return worker
      },
      worker => worker.end()
    )
  }
}
