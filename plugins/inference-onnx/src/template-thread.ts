import { readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** Program of the thread, next to the compiled plugin: threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/template-worker.cjs' : './template-worker.cjs',
  import.meta.url
)
/** Second limit on memory, after the limits on texts and steps, which a single large allocation cannot bypass. */
const MAX_HEAP_MB = 128
/** Limit for a thread that gets no CPU time. */
const MAX_WAIT_MS = 10_000

export interface TemplateJob {
  readonly source: string
  readonly variables: Readonly<Record<string, unknown>>
  /** Clock of the template, in milliseconds since 1970. */
  readonly now: number
}

export type TemplateReply = { readonly text: string } | { readonly failure: string }

/** First message of the thread. */
export interface TemplateReady {
  /** Folder of the thread below Linux's `/proc`; null elsewhere. */
  readonly task: string | null
}

/** Thread that renders one template at a time. It starts immediately and does not keep the process alive while idle. */
export class TemplateThread {
  readonly #worker: Worker
  readonly #ready: Promise<string | null>
  #onMessage: (message: unknown) => void = () => undefined
  #onEnd: (error: Error) => void = () => undefined
  /** Number of calls that wait for the thread, which keeps the process alive for them. */
  #waiting = 0
  /** Reason why the thread ended. */
  #ended: Error | null = null

  constructor() {
    this.#worker = new Worker(SCRIPT, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } })
    this.#worker.on('message', message => this.#onMessage(message))
    this.#worker.on('error', error => this.#end(error))
    this.#worker.on('exit', () => this.#end(new Error('its thread ended')))
    this.#ready = this.#next().then(message => (message as TemplateReady).task)
    this.#ready.catch(() => undefined)
    this.#worker.unref()
  }

  get ended(): boolean {
    return this.#ended !== null
  }

  /** Resolves when the thread can render at full speed. Throws if it cannot start. */
  async ready(): Promise<void> {
    this.#hold()
    try {
      await this.#ready
    } finally {
      this.#release()
    }
  }

  /**
   * Renders a template. Resolves to `late` after `limitMs` of the thread's CPU time, so that a busy machine does not
   * fail a template; the caller must then terminate the thread. `measured`: false where only wall time is known.
   */
  async render(job: TemplateJob, limitMs: number): Promise<TemplateReply | { readonly late: true; measured: boolean }> {
    this.#hold()
    let timer: NodeJS.Timeout | undefined
    try {
      const task = await this.#ready
      const reply = this.#next()
      const cpuBefore = cpuMs(task)
      const startedAt = performance.now()
      const late = new Promise<{ late: true; measured: boolean }>(resolve => {
        const check = (): void => {
          const waited = performance.now() - startedAt
          const cpu = cpuMs(task)
          const measured = cpuBefore !== null && cpu !== null
          const used = measured ? cpu - cpuBefore : waited
          if (used < limitMs && waited < MAX_WAIT_MS) timer = setTimeout(check, Math.max(limitMs - used, 1))
          // The reply may already wait in the queue of this event loop.
          else setImmediate(() => resolve({ late: true, measured }))
        }
        timer = setTimeout(check, limitMs)
      })
      this.#worker.postMessage(job)
      return await Promise.race([reply as Promise<TemplateReply>, late])
    } finally {
      clearTimeout(timer)
      this.#release()
    }
  }

  async terminate(): Promise<void> {
    // Never released: otherwise the end of another wait would let the process end before the thread.
    this.#hold()
    await this.#worker.terminate()
  }

  #hold(): void {
    this.#waiting++
    this.#worker.ref()
  }

  #release(): void {
    this.#waiting--
    if (this.#waiting === 0) this.#worker.unref()
  }

  #end(error: Error): void {
    this.#ended ??= error
    this.#onEnd(this.#ended)
  }

  /** Resolves to the next message. Rejects when the thread ends. */
  #next(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== null) reject(this.#ended)
      this.#onMessage = resolve
      this.#onEnd = reject
    })
  }
}

/** Returns the CPU time of a thread; null where the system does not report it. */
function cpuMs(task: string | null): number | null {
  if (task === null) return null
  try {
    const nanoseconds = Number(readFileSync(`/proc/${task}/schedstat`, 'utf8').split(' ', 1)[0])
    return nanoseconds > 0 ? nanoseconds / 1e6 : null
  } catch {
    return null
  }
}
