import { randomUUID } from 'node:crypto'
import {
  type ChatTool,
  type InferenceChatEvent,
  type InferenceMessage,
  type InferencePrompt,
  type RemoteModel,
  type RunningModel,
  WireFailure
} from '@svc/contracts'
import {
  type ChatResponse,
  type GenerateResponse,
  type Message,
  type ModelResponse,
  Ollama,
  type Options,
  type Tool
} from 'ollama/browser'
import { type FilledRequest, failureOf, headersOf, type Wire, type WireOptions } from './wire.ts'

/**
 * Ollama format, through Ollama's official client: `GET /api/tags`, `GET /api/ps`, `POST /api/chat`, `POST
 * /api/generate`.
 */
export class OllamaWire implements Wire {
  readonly api = 'ollama'
  readonly #options: WireOptions

  constructor(options: WireOptions) {
    this.#options = options
  }

  async models(signal: AbortSignal): Promise<readonly RemoteModel[]> {
    const { models } = await failing(this.#client(signal).list())
    return listed(models, '/api/tags').map(remoteModel)
  }

  async running(signal: AbortSignal): Promise<readonly RunningModel[]> {
    const { models } = await failing(this.#client(signal).ps())
    return listed(models, '/api/ps').map(runningModel)
  }

  async sees(model: string, signal: AbortSignal): Promise<boolean | null> {
    const { capabilities } = await failing(this.#client(signal).show({ model }))
    return Array.isArray(capabilities) ? capabilities.includes('vision') : null
  }

  chat(request: FilledRequest, signal: AbortSignal): AsyncIterable<InferenceChatEvent> {
    return request.prompt === undefined ? this.#chat(request, signal) : this.#generate(request, request.prompt, signal)
  }

  async *#generate(request: FilledRequest, { text, raw, system }: InferencePrompt, signal: AbortSignal) {
    const { model, format } = request
    const stream = await failing(
      this.#client(signal).generate({
        model,
        prompt: text,
        raw,
        stream: true,
        options: toOptions(request),
        ...(raw || system === undefined ? {} : { system }),
        ...(format === undefined ? {} : { format })
      })
    )
    const parts = stream[Symbol.asyncIterator]()
    for (;;) {
      const { value: part, done } = await failing(parts.next())
      if (done === true) return
      if (part.thinking) yield { type: 'thinking', text: part.thinking } as const
      if (part.response) yield { type: 'text', text: part.response } as const
      if (part.done) yield ended(part, false)
    }
  }

  async *#chat(request: FilledRequest, signal: AbortSignal): AsyncGenerator<InferenceChatEvent, void> {
    const { model, messages, tools, format } = request
    const stream = await failing(
      this.#client(signal).chat({
        model,
        messages: messages.map(toMessage),
        stream: true,
        options: toOptions(request),
        ...(tools === undefined ? {} : { tools: tools.map(toTool) }),
        ...(format === undefined ? {} : { format })
      })
    )
    let called = false
    const parts = stream[Symbol.asyncIterator]()
    for (;;) {
      const { value: part, done } = await failing(parts.next())
      if (done === true) return
      const { thinking, content, tool_calls } = part.message
      if (thinking) yield { type: 'thinking', text: thinking }
      if (content) yield { type: 'text', text: content }
      for (const call of tool_calls ?? []) {
        called = true
        yield {
          type: 'tool-call',
          call: { id: `call_${randomUUID()}`, name: call.function.name, arguments: call.function.arguments }
        }
      }
      if (part.done) yield ended(part, called)
    }
  }

  /** Returns a new client for each request, because aborting a client ends all its requests. */
  #client(signal: AbortSignal): Ollama {
    return new Ollama({
      host: this.#options.url,
      headers: headersOf(this.#options),
      fetch: async (input, init = {}) => {
        const response = await fetch(input, {
          ...init,
          signal: init.signal == null ? signal : AbortSignal.any([init.signal, signal])
        })
        if (response.ok) return response
        throw await failureOf(response)
      }
    })
  }
}

/** Maps an error that the server reports within a stream to a `WireFailure`. */
async function failing<A>(work: Promise<A>): Promise<A> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && error.name === 'ResponseError') throw new WireFailure(500, error.message)
    throw error
  }
}

/** Checks the list: other servers may respond with anything at this path. */
function listed(models: readonly ModelResponse[] | undefined, path: string): readonly ModelResponse[] {
  if (Array.isArray(models)) return models
  throw new WireFailure(502, `the response to GET ${path} contains no list of models`)
}

/** Servers report an expiry beyond this for a model that they never unload. */
const NEVER_MS = 100 * 365 * 24 * 3_600_000

function runningModel(model: ModelResponse): RunningModel {
  const { name, size, size_vram, context_length } = model as ModelResponse & { readonly context_length?: number }
  const until = Date.parse(String(model.expires_at))
  const left = until - Date.now()
  return {
    name,
    sizeBytes: size ?? null,
    gpuBytes: size_vram ?? null,
    contextLength: context_length || null,
    // Ollama writes the year 1 if the expiry is unknown.
    expiresAt: Math.abs(left) < NEVER_MS ? new Date(until).toISOString() : null
  }
}

/** Returns what a model computes in place of text. Ollama itself reports capabilities only for a single model. */
function kindOf(capabilities: unknown): 'embedding' | 'reranker' | null {
  if (!Array.isArray(capabilities) || capabilities.includes('completion')) return null
  return (['embedding', 'reranker'] as const).find(each => capabilities.includes(each)) ?? null
}

function remoteModel({ name, size, modified_at, digest, details, ...others }: ModelResponse): RemoteModel {
  const text = (value: string | undefined): string | null => value || null
  return {
    name,
    sizeBytes: size ?? null,
    modifiedAt: modified_at === undefined ? null : String(modified_at),
    digest: text(digest),
    family: text(details?.family),
    parameters: text(details?.parameter_size),
    quantization: text(details?.quantization_level),
    kind: kindOf((others as { readonly capabilities?: unknown }).capabilities)
  }
}

function toMessage({ role, content, thinking, toolCalls, name, images = [] }: InferenceMessage): Message {
  return {
    role,
    content,
    ...(images.length === 0 ? {} : { images: images.map(image => ('data' in image ? image.data : refuseUrl())) }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(name === undefined ? {} : { tool_name: name }),
    ...(toolCalls === undefined
      ? {}
      : { tool_calls: toolCalls.map(call => ({ function: { name: call.name, arguments: { ...call.arguments } } })) })
  }
}

function refuseUrl(): never {
  throw new WireFailure(400, "Ollama's format takes images as data, not as addresses")
}

function toTool({ name, description, parameters }: ChatTool): Tool {
  return { type: 'function', function: { name, ...(description === undefined ? {} : { description }), parameters } }
}

function toOptions({ temperature, topP, maxTokens, seed, stop }: FilledRequest): Partial<Options> {
  return {
    temperature,
    num_predict: maxTokens,
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop === undefined ? {} : { stop: [...stop] })
  }
}

function ended(part: ChatResponse | GenerateResponse, called: boolean): InferenceChatEvent {
  const milliseconds = (nanoseconds: number | undefined) => (nanoseconds === undefined ? null : nanoseconds / 1e6)
  return {
    type: 'done',
    finishReason: called ? 'tool-calls' : part.done_reason === 'length' ? 'length' : 'stop',
    model: part.model,
    usage: {
      promptTokens: part.prompt_eval_count ?? 0,
      completionTokens: part.eval_count ?? 0,
      promptMs: milliseconds(part.prompt_eval_duration),
      completionMs: milliseconds(part.eval_duration)
    }
  }
}
