import type {
  GenerateEvent,
  GenerateUsage,
  LoadedModel,
  ObservabilitySpans,
  OutputConstraint,
  SamplingOptions,
  ScoredToken
} from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { invalid } from './body-reader.ts'
import { completionSpans } from './completion-spans.ts'
import { withDefaultOptions } from './defaults/model-defaults.ts'
import { errors } from './errors.ts'
import { type CompletionRecord, type Metrics, NO_METRICS } from './metrics.ts'
import { contextExceeded, type Prompt, promptTokens } from './prompt.ts'
import { RequestAbort, stopped } from './request-abort.ts'
import type { ServedModel } from './served-model.ts'

/** Completion request, independent of the wire format. */
export interface CompletionRequest {
  readonly prompt: Prompt
  /** `rest`: until the context is full; default: the server's limit. */
  readonly maxTokens?: number | 'rest'
  /** Upper bound on the context for this request, in tokens. */
  readonly contextLimit?: number
  readonly sampling: SamplingOptions
  readonly stop?: readonly string[]
  readonly logprobs?: number
  readonly constraint?: FieldConstraint
  readonly adapter?: string | null
  /** Identity of the client, for fair queueing. */
  readonly client?: string
  /** True for another part of a request that was already admitted; it is queued even if the queue is full. */
  readonly admitted?: boolean
  /** Start of the request, by `performance.now()`; its timeout counts from here. Default: now. */
  readonly startedAt?: number
}

/** Prompt whose tokens are scored; `top`: number of most likely tokens to report at each position. */
export interface ScoreRequest
  extends Pick<CompletionRequest, 'prompt' | 'adapter' | 'client' | 'admitted' | 'startedAt'> {
  readonly top: number
}

/** Constraint on the answer, and the field of the request that sets it. */
export interface FieldConstraint {
  readonly field: string
  readonly value: OutputConstraint
}

/** Piece of the answer, or its end. */
export type CompletionEvent =
  | Extract<GenerateEvent, { type: 'text' }>
  | {
      readonly type: 'done'
      readonly finishReason: 'stop' | 'length'
      readonly stopString?: string
      readonly usage: GenerateUsage
    }

/** Answer whose generation has begun. */
export interface Completion extends AsyncIterable<CompletionEvent> {
  readonly promptTokens: readonly number[]
  /** Ends the answer early, with finish reason `stop`. The final event, with the usage, still follows. */
  finish(): void
}

export interface Limits {
  /** Requests that may wait for a slot. */
  readonly queue: number
  readonly maxTokens: number
  readonly temperature: number
  /** Milliseconds that an answer may take, including its time in the queue; 0 for no limit. */
  readonly timeoutMs: number
}

/** Runs completions on the served model: applies limits, admits requests, and ends them with the unit. */
export class Completions {
  readonly #served: ServedModel
  readonly #limits: () => Limits
  readonly #metrics: Metrics
  readonly #spans: () => ObservabilitySpans | undefined
  readonly #running = new Set<RequestAbort>()

  /** `limits` is called for each request, because limits can change while the server runs. */
  constructor(
    served: ServedModel,
    limits: () => Limits,
    metrics: Metrics = NO_METRICS,
    spans: () => ObservabilitySpans | undefined = () => undefined
  ) {
    this.#served = served
    this.#limits = limits
    this.#metrics = metrics
    this.#spans = spans
  }

  get limits(): Limits {
    return this.#limits()
  }

  /** Answers that the model can generate concurrently. Throws like {@link Completions.start} if it is not loaded. */
  get slots(): number {
    return this.#served.ready().model.capacity().slots
  }

  /**
   * Starts a completion and resolves at its first event, so that a rejected request fails before the response begins.
   * The completion holds a slot until its events are read to the end or `signal` is aborted. The caller must abort the
   * signal when it is done.
   *
   * Throws `MSV_MODEL_LOADING`, `MSV_MODEL_FAILED`, `MSV_CONTEXT_EXCEEDED`, `MSV_REQUEST_INVALID`, `MSV_BUSY`,
   * `MSV_CONSTRAINT_UNSUPPORTED`, `MSV_TIMEOUT`, `MSV_STOPPED`. The iterator throws `MSV_TIMEOUT`, `MSV_STOPPED` or
   * errors of the engine.
   */
  async start(asked: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    const { model } = this.#served.ready()
    const request = withDefaultOptions(asked, this.#served.defaults)
    const limits = this.#limits()
    const record = this.#metrics.begin(this.#served.name, adapterLabel(model, request.adapter))
    try {
      const context = Math.min(model.info.contextLength, request.contextLimit ?? Number.POSITIVE_INFINITY)
      const tokens = promptTokens(model, request.prompt, context)
      refuseUnknownBias(model, request.sampling)
      const room = context - tokens.length
      const requested = request.maxTokens ?? limits.maxTokens
      if (requested === 0) return nothing(tokens, record)
      const ending = new RequestAbort(signal, limits.timeoutMs, request.startedAt ?? performance.now())
      const { constraint, stop, logprobs, adapter, client, admitted } = request
      const events = this.#run(model, ending, constraint?.field, record, {
        tokens,
        maxTokens: requested === 'rest' ? room : Math.min(requested, room),
        sampling: { ...request.sampling, temperature: request.sampling.temperature ?? limits.temperature },
        ...defined({ stop, logprobs }),
        ...(constraint === undefined ? {} : { constraint: constraint.value }),
        ...defined({ adapter, client }),
        maxWaiting: admitted === true ? Number.POSITIVE_INFINITY : limits.queue
      })
      const iterator = startedWith(await events.next(), events, signal)
      return { promptTokens: tokens, finish: () => ending.end('finish'), [Symbol.asyncIterator]: () => iterator }
    } catch (error) {
      record.end(outcomeOf(error))
      throw error
    }
  }

  /**
   * Resolves to the tokens of a prompt, and the log probability of each token but the first. Throws like
   * {@link Completions.start}, and `MSV_TIMEOUT` or `MSV_STOPPED` if it was ended early.
   */
  async score(
    { prompt, top, adapter, client, admitted, startedAt = performance.now() }: ScoreRequest,
    signal: AbortSignal
  ): Promise<{ readonly tokens: readonly number[]; readonly scores: readonly ScoredToken[] }> {
    const { model } = this.#served.ready()
    const { queue, timeoutMs } = this.#limits()
    const tokens = promptTokens(model, prompt, model.info.contextLength)
    const ending = new RequestAbort(signal, timeoutMs, startedAt)
    this.#running.add(ending)
    try {
      const maxWaiting = admitted === true ? Number.POSITIVE_INFINITY : queue
      const request = { tokens, top, maxWaiting, signal: ending.signal, ...defined({ adapter, client }) }
      return { tokens, scores: await model.score(request) }
    } catch (error) {
      if (ending.signal.aborted) ending.reason()
      throw this.#fromEngine(error, model, adapter, undefined)
    } finally {
      this.#running.delete(ending)
      ending.close()
    }
  }

  /** Ends every completion; their readers get `MSV_STOPPED`. */
  stop(): void {
    for (const ending of this.#running) ending.end('gone')
  }

  async *#run(
    model: LoadedModel,
    ending: RequestAbort,
    field: string | undefined,
    record: CompletionRecord,
    request: Parameters<LoadedModel['generate']>[0]
  ): AsyncGenerator<CompletionEvent, void> {
    this.#running.add(ending)
    let outcome = 'cancelled'
    const recorder = this.#spans()
    const spans = completionSpans(recorder, recorder?.current(), this.#served.name)
    try {
      for await (const event of model.generate({ ...request, signal: ending.signal })) {
        if (event.type === 'text') {
          record.text(event.tokens.length)
          yield event
          continue
        }
        const { usage, stopString } = event
        record.usage(usage)
        spans?.usage(usage)
        const finishReason = event.finishReason === 'cancelled' ? ending.reason() : event.finishReason
        outcome = finishReason
        yield { type: 'done', finishReason, ...defined({ stopString }), usage }
      }
    } catch (error) {
      const failure = ending.why === 'gone' ? stopped() : this.#fromEngine(error, model, request.adapter, field)
      outcome = outcomeOf(failure)
      spans?.end(failure)
      throw failure
    } finally {
      spans?.end()
      record.end(outcome)
      this.#running.delete(ending)
      ending.close()
    }
  }

  #fromEngine(
    error: unknown,
    model: LoadedModel,
    adapter: string | null | undefined,
    field: string | undefined
  ): unknown {
    // The adapter was removed after the name was resolved.
    if (isSvcError(error, 'INF_ADAPTER_UNKNOWN')) return this.#served.unknown(`${this.#served.name}:${adapter}`)
    if (isSvcError(error, 'INF_BUSY')) return busy(model.capacity().slots, this.#limits().queue)
    return fromEngine(error, field)
  }
}

/**
 * Yields `first` and the remaining events of a generator. An abort ends the generator even if the consumer stopped
 * reading.
 */
function startedWith(
  first: IteratorResult<CompletionEvent, void>,
  rest: AsyncGenerator<CompletionEvent, void>,
  signal: AbortSignal
): AsyncIterator<CompletionEvent> {
  const end = () => void rest.return().catch(() => undefined)
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })
  let pending: IteratorResult<CompletionEvent, void> | undefined = first
  return {
    next: () => {
      if (pending === undefined) return rest.next()
      const result = pending
      pending = undefined
      return Promise.resolve(result)
    },
    return: () => rest.return().then(() => ({ done: true, value: undefined }))
  }
}

function refuseUnknownBias({ info }: LoadedModel, { logitBias = new Map() }: SamplingOptions): void {
  for (const token of logitBias.keys()) {
    if (token < info.vocabularySize) continue
    throw invalid(
      `'logit_bias' names the token ${token}; the vocabulary has ${info.vocabularySize} tokens`,
      'logit_bias'
    )
  }
}

/** Returns the completion of a request that generates no tokens. */
function nothing(promptTokens: readonly number[], record: CompletionRecord): Completion {
  const usage = {
    promptTokens: promptTokens.length,
    cachedTokens: 0,
    completionTokens: 0,
    queueNs: 0,
    promptNs: 0,
    completionNs: 0
  }
  record.usage(usage)
  record.end('length')
  return {
    promptTokens,
    finish: () => undefined,
    async *[Symbol.asyncIterator]() {
      yield { type: 'done', finishReason: 'length', usage } as const
    }
  }
}

/** Returns the metric label of the adapter: the requested one, or the one merged into the model. */
function adapterLabel({ info }: LoadedModel, adapter: string | null | undefined): string {
  return adapter ?? (adapter === undefined && info.adapter !== null ? 'merged' : 'none')
}

function outcomeOf(error: unknown): string {
  if (isSvcError(error, 'MSV_BUSY')) return 'busy'
  if (isSvcError(error, 'MSV_TIMEOUT')) return 'timeout'
  if (isSvcError(error, 'MSV_STOPPED')) return 'cancelled'
  return isSvcError(error) && error.status < 500 ? 'refused' : 'failed'
}

function busy(slots: number, queue: number): Error {
  return errors.create('MSV_BUSY', `server busy: all ${slots} slots are in use and ${queue} requests wait`, {
    hint: 'Retry in a second, or raise the setting plugins.model-server.queue.'
  })
}

/** Maps errors of the engine to errors of this server; returns any other error unchanged. */
function fromEngine(error: unknown, field: string | undefined): unknown {
  if (isSvcError(error, 'INF_CONTEXT_EXCEEDED')) {
    const { promptTokens, contextLength } = error.data as { promptTokens: number; contextLength: number }
    return contextExceeded(promptTokens, contextLength)
  }
  if (isSvcError(error, 'INF_CONSTRAINT_UNSUPPORTED')) {
    return errors.create('MSV_CONSTRAINT_UNSUPPORTED', `'${field}': ${error.message}`, {
      cause: error,
      data: { param: field }
    })
  }
  return error
}
