import { Worker } from 'node:worker_threads'
import { defined, errorMessage } from '@svc/plugin-sdk'
import { FairQueue } from '../batching/fair-queue.ts'
import { inferenceErrors } from '../errors.ts'
import type { CompilableConstraint } from './compile-constraint.ts'
import type { NetworkTables } from './flat-network.ts'
import { unsupported } from './unsupported.ts'

/** Program of the thread, next to the compiled plugin: threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/constraint-worker.cjs' : './constraint-worker.cjs',
  import.meta.url
)
const MAX_WAITING = 64
const MAX_HEAP_MB = 512
/** Time of one compilation; the limits on nodes and states end nearly all of them before. */
const LIMIT_MS = 10_000
/** Additional time for the start of the thread and for its reply. */
const SLACK_MS = 10_000

export interface CompileJob {
  readonly constraint: CompilableConstraint
  readonly limitMs: number
}

export type CompileReply =
  | { readonly tables: NetworkTables }
  | { readonly late: true }
  | {
      readonly refusal: { readonly message: string; readonly path: string; readonly hint?: string | undefined }
    }

interface Waiting {
  readonly constraint: CompilableConstraint
  resolve(tables: NetworkTables): void
  reject(error: unknown): void
}

/**
 * Compiles constraints in a separate thread, one after the other, with limits on time and memory. A fair queue orders
 * clients. Each thread compiles one constraint, since few constraints need one.
 */
export class ConstraintThreads {
  readonly #queue = new FairQueue<Waiting>()
  readonly #limitMs: number
  #running: Worker | null = null
  #closed = false

  constructor({ limitMs = LIMIT_MS }: { readonly limitMs?: number } = {}) {
    this.#limitMs = limitMs
  }

  /**
   * Compiles a constraint. `client`: any id; the queue is fair between clients. Throws `INF_CONSTRAINT_UNSUPPORTED`,
   * `INF_BUSY`, or `INF_MODEL_CLOSED` after {@link close}.
   */
  compile(constraint: CompilableConstraint, client = ''): Promise<NetworkTables> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closed())
      const added = this.#queue.add(client, { constraint, resolve, reject }, MAX_WAITING)
      if (added === false) return reject(busy())
      added.displaced?.reject(busy())
      void this.#advance()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    for (let one = this.#queue.next(); one !== null; one = this.#queue.next()) one.reject(closed())
    await this.#running?.terminate()
  }

  async #advance(): Promise<void> {
    if (this.#running !== null) return
    for (let next = this.#queue.next(); next !== null; next = this.#queue.next()) {
      const worker = new Worker(SCRIPT, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } })
      this.#running = worker
      try {
        next.resolve(this.#tables(await this.#reply(worker, next.constraint)))
      } catch (error) {
        next.reject(this.#closed ? closed() : error)
      }
      await worker.terminate()
      this.#running = null
    }
  }

  #reply(worker: Worker, constraint: CompilableConstraint): Promise<CompileReply> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => resolve({ late: true }), this.#limitMs + SLACK_MS)
      const end = (settle: () => void) => {
        clearTimeout(timer)
        settle()
      }
      worker.once('message', (reply: CompileReply) => end(() => resolve(reply)))
      worker.once('error', error => end(() => reject(tooLarge(errorMessage(error)))))
      worker.once('exit', () => end(() => reject(tooLarge('its thread ended'))))
      worker.postMessage({ constraint, limitMs: this.#limitMs } satisfies CompileJob)
    })
  }

  #tables(reply: CompileReply): NetworkTables {
    if ('tables' in reply) return reply.tables
    if ('late' in reply) throw tooLarge(`compiling it takes more than ${this.#limitMs / 1000} s`)
    const { message, path, hint } = reply.refusal
    throw inferenceErrors.create('INF_CONSTRAINT_UNSUPPORTED', message, {
      at: { path },
      data: { path },
      ...defined({ hint })
    })
  }
}

function tooLarge(why: string): Error {
  return unsupported('#', `it is too large: ${why}`, 'Use smaller repetition counts and fewer alternatives.')
}

function busy(): Error {
  return inferenceErrors.create(
    'INF_BUSY',
    `${MAX_WAITING} requests with large constraints are already queued; try again later`
  )
}

function closed(): Error {
  return inferenceErrors.create('INF_MODEL_CLOSED', 'The model was closed')
}
