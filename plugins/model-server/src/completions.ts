import type { GenerateEvent, GenerateUsage, LoadedModel, SamplingOptions } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { errors } from './errors.ts'
import { contextExceeded, type Prompt, promptTokens } from './prompt.ts'
import type { ServedModel } from './served-model.ts'

/** A request after its wire format has been taken off. */
export interface CompletionRequest {
  readonly prompt: Prompt
  /** `rest`: until the context is full. Absent: the server's default. */
  readonly maxTokens?: number | 'rest'
  /** Upper bound on the context for this request, in tokens. */
  readonly contextLimit?: number
  readonly sampling: SamplingOptions
  readonly stop?: readonly string[]
  readonly logprobs?: number
}

/** A piece of the answer, or its end. */
export type CompletionEvent =
  | Extract<GenerateEvent, { type: 'text' }>
  | { readonly type: 'done'; readonly finishReason: 'stop' | 'length'; readonly usage: GenerateUsage }

export interface Limits {
  readonly slots: number
  readonly queue: number
  readonly maxTokens: number
  readonly temperature: number
}

/** Runs completions on the served model: bounds them, admits them, and ends them with the unit. */
export class Completions {
  readonly #served: ServedModel
  readonly #limits: () => Limits
  readonly #running = new Set<AbortController>()

  /** `limits` is read on every request, so that they can change while the server runs. */
  constructor(served: ServedModel, limits: () => Limits) {
    this.#served = served
    this.#limits = limits
  }

  /**
   * Starts a completion and returns once its first event is there, so that whatever can be refused is refused before
   * an answer begins. The completion holds a slot until the events are read to the end or `signal` is aborted: abort
   * it in every case.
   *
   * Throws `MSV_MODEL_LOADING`, `MSV_MODEL_FAILED`, `MSV_CONTEXT_EXCEEDED`, `MSV_REQUEST_INVALID`, `MSV_BUSY`,
   * `MSV_STOPPED`; the events throw `MSV_STOPPED` or what the engine throws.
   */
  async start(request: CompletionRequest, signal: AbortSignal): Promise<AsyncIterable<CompletionEvent>> {
    const { model } = this.#served.ready()
    const limits = this.#limits()
    const context = Math.min(model.info.contextLength, request.contextLimit ?? Number.POSITIVE_INFINITY)
    const tokens = promptTokens(model, request.prompt, context)
    const room = context - tokens.length
    const asked = request.maxTokens ?? limits.maxTokens
    if (this.#running.size >= limits.slots + limits.queue) throw busy(limits)
    const events = this.#run(model, signal, {
      tokens,
      maxTokens: asked === 'rest' ? room : Math.min(asked, room),
      sampling: { ...request.sampling, temperature: request.sampling.temperature ?? limits.temperature },
      ...(request.stop === undefined ? {} : { stop: request.stop }),
      ...(request.logprobs === undefined ? {} : { logprobs: request.logprobs })
    })
    return startedWith(await events.next(), events, signal)
  }

  /** Ends every completion; those who still listen get `MSV_STOPPED`. */
  stop(): void {
    for (const controller of this.#running) controller.abort()
  }

  async *#run(
    model: LoadedModel,
    signal: AbortSignal,
    request: Parameters<LoadedModel['generate']>[0]
  ): AsyncGenerator<CompletionEvent, void> {
    const controller = new AbortController()
    const abort = () => controller.abort()
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    this.#running.add(controller)
    try {
      for await (const event of model.generate({ ...request, signal: controller.signal })) {
        if (event.type === 'text') yield event
        else if (event.finishReason === 'cancelled') throw stopped()
        else yield { type: 'done', finishReason: event.finishReason, usage: event.usage }
      }
    } catch (error) {
      throw controller.signal.aborted ? stopped() : fromEngine(error, this.#limits())
    } finally {
      this.#running.delete(controller)
      signal.removeEventListener('abort', abort)
    }
  }
}

/** Events of a generator that has run up to its first one; the abort ends it even when nobody reads on. */
function startedWith(
  first: IteratorResult<CompletionEvent, void>,
  rest: AsyncGenerator<CompletionEvent, void>,
  signal: AbortSignal
): AsyncIterable<CompletionEvent> {
  const end = () => void rest.return().catch(() => undefined)
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  let pending: IteratorResult<CompletionEvent, void> | undefined = first
  const iterator: AsyncIterableIterator<CompletionEvent> = {
    [Symbol.asyncIterator]: () => iterator,
    next: () => {
      if (pending === undefined) return rest.next()
      const result = pending
      pending = undefined
      return Promise.resolve(result)
    },
    return: () => rest.return().then(() => ({ done: true, value: undefined }))
  }
  return iterator
}

function busy({ slots, queue }: Limits): Error {
  return errors.create('MSV_BUSY', `server busy: ${slots} answers are being generated and ${queue} requests wait`, {
    hint: 'Try again in a second; the setting plugins.model-server.queue makes the queue longer.'
  })
}

function stopped(): Error {
  return errors.create('MSV_STOPPED', 'the answer was cut off, since the server is stopping or its client went away')
}

/** The engine's refusals in this server's words; anything else passes as it is. */
function fromEngine(error: unknown, limits: Limits): unknown {
  if (isSvcError(error, 'INF_BUSY')) return busy(limits)
  if (isSvcError(error, 'INF_CONTEXT_EXCEEDED')) {
    const { promptTokens, contextLength } = error.data as { promptTokens: number; contextLength: number }
    return contextExceeded(promptTokens, contextLength)
  }
  return error
}
