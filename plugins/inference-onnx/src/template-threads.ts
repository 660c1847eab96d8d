import { errorMessage } from '@svc/plugin-sdk'
import { FairQueue } from './batching/fair-queue.ts'
import { inferenceErrors } from './errors.ts'
import { type TemplateJob, type TemplateReply, TemplateThread } from './template-thread.ts'

/** A client that occupies one thread leaves the other to the rest. */
const MAX_THREADS = 2
const MAX_WAITING = 64
/** CPU time of one template; the limits on steps end nearly all templates before. */
const MAX_CPU_MS = 80
/** Wall time of the second attempt where CPU time cannot be read: the first may have waited for a busy machine. */
const MAX_RETRY_MS = 1000

interface Waiting {
  readonly job: TemplateJob
  resolve(text: string): void
  reject(error: Error): void
}

/**
 * Renders templates of clients in separate threads, with limits on steps, texts, CPU time and memory. A fair queue
 * orders clients. A thread that exceeds its time or memory is terminated, and replaced immediately.
 */
export class TemplateThreads {
  readonly #queue = new FairQueue<Waiting>()
  readonly #threads = new Set<TemplateThread>()
  readonly #idle: TemplateThread[] = []
  readonly #maxCpuMs: number
  #closed = false

  constructor({ maxCpuMs = MAX_CPU_MS }: { readonly maxCpuMs?: number } = {}) {
    this.#maxCpuMs = maxCpuMs
  }

  /** Starts a thread, so that the first template does not wait for it. */
  async warm(): Promise<void> {
    if (this.#closed || this.#threads.size > 0) return
    const thread = this.#start()
    this.#idle.push(thread)
    await thread.ready()
  }

  /**
   * Renders a template. `client`: any id; the queue is fair between clients. Throws `INF_CHAT_TEMPLATE_FAILED`, `INF_BUSY`, or
   * `INF_MODEL_CLOSED` after {@link close}.
   */
  render(
    source: string,
    variables: Readonly<Record<string, unknown>>,
    now: Date,
    client: string | undefined = ''
  ): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closed())
      const waiting = { job: { source, variables, now: now.getTime() }, resolve, reject }
      const added = this.#queue.add(client, waiting, MAX_WAITING)
      if (added === false) return reject(busy())
      added.displaced?.reject(busy())
      this.#advance()
    })
  }

  /** Ends the threads that render nothing; the next template starts one. */
  async stopIdle(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map(thread => this.#stop(thread)))
  }

  async close(): Promise<void> {
    this.#closed = true
    for (let one = this.#queue.next(); one !== null; one = this.#queue.next()) one.reject(closed())
    await Promise.all([...this.#threads].map(thread => this.#stop(thread)))
  }

  #advance(): void {
    while (this.#queue.size > 0) {
      const idle = this.#takeIdle()
      if (idle === undefined && this.#threads.size >= MAX_THREADS) return
      const next = this.#queue.next() as Waiting
      void this.#answer(idle ?? this.#start(), next).finally(() => this.#advance())
    }
  }

  async #answer(thread: TemplateThread, { job, resolve, reject }: Waiting): Promise<void> {
    const reply = await this.#render(thread, job, this.#maxCpuMs)
    if (this.#closed) reject(closed())
    else if ('text' in reply) resolve(reply.text)
    else {
      reject(
        inferenceErrors.create('INF_CHAT_TEMPLATE_FAILED', `The request's template failed: ${reply.failure}`, {
          hint: 'Shorten the template, or leave it out to use the template of the model.'
        })
      )
    }
  }

  async #render(thread: TemplateThread, job: TemplateJob, limitMs: number): Promise<TemplateReply> {
    try {
      const reply = await thread.render(job, limitMs)
      if (!('late' in reply)) {
        this.#idle.push(thread)
        return reply
      }
      void this.#stop(thread)
      if (reply.measured || limitMs > this.#maxCpuMs) {
        if (!this.#closed) this.#idle.push(this.#start())
        return { failure: `it takes more than ${limitMs} ms` }
      }
    } catch (error) {
      void this.#stop(thread)
      if (!this.#closed) this.#idle.push(this.#start())
      return { failure: errorMessage(error) }
    }
    return this.#closed ? { failure: 'closed' } : this.#render(this.#start(), job, MAX_RETRY_MS)
  }

  #start(): TemplateThread {
    const thread = new TemplateThread()
    this.#threads.add(thread)
    return thread
  }

  /** Returns an idle thread; threads may have ended while idle. */
  #takeIdle(): TemplateThread | undefined {
    for (let thread = this.#idle.pop(); thread !== undefined; thread = this.#idle.pop()) {
      if (!thread.ended) return thread
      this.#threads.delete(thread)
    }
    return undefined
  }

  async #stop(thread: TemplateThread): Promise<void> {
    this.#threads.delete(thread)
    await thread.terminate()
  }
}

function busy(): Error {
  return inferenceErrors.create(
    'INF_BUSY',
    `${MAX_WAITING} requests with templates are already queued; try again later`
  )
}

function closed(): Error {
  return inferenceErrors.create('INF_MODEL_CLOSED', 'The engine was closed')
}
