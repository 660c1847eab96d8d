import { Worker } from 'node:worker_threads'
import { inferenceErrors } from './errors.ts'

/** Program of the thread, next to the compiled plugin: threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../dist/template-worker.cjs' : './template-worker.cjs',
  import.meta.url
)
/** Ten times as many steps as templates of public models need. */
const MAX_STEPS = 20_000
/** Limit for single steps that take long, such as a filter on a long string. Generous, because machines may be busy. */
const MAX_RENDER_MS = 1000
const MAX_HEAP_MB = 128
const MAX_WAITING = 64

export interface TemplateJob {
  readonly source: string
  readonly variables: Readonly<Record<string, unknown>>
  /** Clock of the template, in milliseconds since 1970. */
  readonly now: number
  readonly maxSteps: number
}

export type TemplateReply = { readonly text: string } | { readonly failure: string }

interface Renderer {
  readonly worker: Worker
  readonly ready: Promise<unknown>
}

/**
 * Renders templates of clients one at a time in a separate thread, with limits on steps, time and memory. A thread that
 * reaches its time or memory limit is terminated; the next template gets a new one.
 */
export class TemplateThread {
  #renderer: Renderer | null = null
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #closed = false

  /** Renders a template. Throws `INF_CHAT_TEMPLATE_FAILED`, `INF_BUSY`, or `INF_MODEL_CLOSED` after {@link close}. */
  async render(source: string, variables: Readonly<Record<string, unknown>>, now: Date): Promise<string> {
    if (this.#waiting >= MAX_WAITING) {
      throw inferenceErrors.create(
        'INF_BUSY',
        `${MAX_WAITING} requests with templates are already queued; try again later`
      )
    }
    this.#waiting++
    const job: TemplateJob = { source, variables, now: now.getTime(), maxSteps: MAX_STEPS }
    const reply = this.#last.then(() => this.#run(job)).finally(() => this.#waiting--)
    this.#last = reply.catch(() => undefined)
    const answer = await reply
    if ('text' in answer) return answer.text
    throw inferenceErrors.create('INF_CHAT_TEMPLATE_FAILED', `The request's template failed: ${answer.failure}`)
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#renderer?.worker.terminate()
    this.#renderer = null
  }

  async #run(job: TemplateJob): Promise<TemplateReply> {
    if (this.#closed) throw inferenceErrors.create('INF_MODEL_CLOSED', 'The engine was closed')
    const renderer = (this.#renderer ??= start())
    let timer: NodeJS.Timeout | undefined
    try {
      await renderer.ready
      renderer.worker.ref()
      const reply = nextMessage(renderer.worker)
      renderer.worker.postMessage(job)
      const timeout = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`it takes more than ${MAX_RENDER_MS} ms`)), MAX_RENDER_MS)
      })
      const answer = (await Promise.race([reply, timeout])) as TemplateReply
      renderer.worker.unref()
      return answer
    } catch (error) {
      this.#renderer = null
      await renderer.worker.terminate()
      return { failure: (error as Error).message }
    } finally {
      clearTimeout(timer)
    }
  }
}

function start(): Renderer {
  const worker = new Worker(SCRIPT, { resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } })
  const ready = nextMessage(worker)
  // `nextMessage` rejects for its caller; this listener prevents an uncaught error at other times.
  worker.on('error', () => undefined)
  return { worker, ready }
}

/** Resolves to the next message of a worker. Rejects if the worker fails or exits first. */
function nextMessage(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit)
      done()
    }
    const onMessage = (message: unknown) => settle(() => resolve(message))
    const onError = (error: Error) => settle(() => reject(error))
    const onExit = () => settle(() => reject(new Error('its thread ended')))
    worker.on('message', onMessage).on('error', onError).on('exit', onExit)
  })
}
