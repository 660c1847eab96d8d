import {
  type ChatImage,
  type ChatTool,
  type InferenceChatEvent,
  type InferenceMessage,
  type InferencePrompt,
  type OpenAiTarget,
  type RemoteModel,
  WireFailure
} from '@svc/contracts'
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { type FilledRequest, failureOf, headersOf, type Wire, type WireOptions } from './wire.ts'

/** OpenAI format: `GET /v1/models`, `POST /v1/chat/completions` and `/v1/completions` with server-sent events. */
export class OpenAiWire implements Wire {
  readonly api = 'openai'
  readonly #options: WireOptions

  constructor(options: WireOptions) {
    this.#options = options
  }

  async models(signal: AbortSignal): Promise<readonly RemoteModel[]> {
    const response = await this.#fetch('/v1/models', { signal })
    const { data } = (await response.json()) as { data?: { id: string; created?: number; kind?: unknown }[] }
    if (!Array.isArray(data)) throw new WireFailure(502, 'the response to GET /v1/models contains no list')
    return data.map(({ id, created, kind }) => ({
      name: id,
      sizeBytes: null,
      modifiedAt: created === undefined ? null : new Date(created * 1000).toISOString(),
      digest: null,
      family: null,
      parameters: null,
      quantization: null,
      kind: kind === 'embedding' || kind === 'reranker' ? kind : null
    }))
  }

  async *chat(request: FilledRequest, signal: AbortSignal): AsyncGenerator<InferenceChatEvent, void> {
    const { prompt } = request
    const { hosted } = this.#options
    const raw = prompt?.raw === true
    const body = raw ? toCompletionBody(request, prompt.text) : toChatBody(request)
    const response = await this.#fetch(hosted?.chatUrl ?? (raw ? '/v1/completions' : '/v1/chat/completions'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(
        hosted === undefined ? body : { ...renameFields(body, hosted.fields ?? {}), ...hosted.body }
      ),
      signal
    })
    const answer = new ReplyAssembler()
    const texts = (response.body as ReadableStream).pipeThrough(new TextDecoderStream())
    const events: AsyncIterable<{ data: string }> = texts.pipeThrough(new EventSourceParserStream())
    for await (const { data } of events) {
      if (data === '[DONE]') break
      yield* answer.take(parseChunk(data))
    }
    yield* answer.end(request.model)
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = { ...init.headers, ...headersOf(this.#options) }
    const url = path.startsWith('/') ? `${this.#options.url}${path}` : path
    // A redirect would send the key and the prompt to another server.
    const response = await fetch(url, { ...init, headers, redirect: this.#options.hosted ? 'error' : 'follow' })
    const { hosted } = this.#options
    const bounded = hosted === undefined || response.body === null ? response : limitBytes(response, response.body)
    if (response.ok) return bounded
    throw await failureOf(bounded)
  }
}

/** Maximum bytes of an answer of a hosted provider. */
const MAX_HOSTED_BYTES = 67_108_864

/** Returns the response with a body that fails at the limit, so that an endless line does not fill the memory. */
function limitBytes({ status, statusText, headers }: Response, body: ReadableStream<Uint8Array>): Response {
  let bytes = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(part, controller) {
      bytes += part.byteLength
      if (bytes <= MAX_HOSTED_BYTES) controller.enqueue(part)
      else controller.error(new WireFailure(502, `the answer is longer than ${MAX_HOSTED_BYTES} bytes`))
    }
  })
  return new Response(body.pipeThrough(limit), { status, statusText, headers })
}

function parseChunk(data: string): Chunk {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Reported below, like a value that is no object.
  }
  throw new WireFailure(502, `an event of the answer is no JSON object: ${data.slice(0, 100)}`)
}

interface Chunk {
  readonly id?: string
  readonly model?: string
  readonly error?: { readonly message?: string; readonly code?: unknown }
  readonly choices?: readonly {
    /** Set in responses of `/v1/completions`. */
    readonly text?: string | null
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null } & {
      /** OpenRouter's and Cerebras's name of `reasoning_content`. */
      readonly reasoning?: string | null
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id?: string
        readonly function?: { readonly name?: string; readonly arguments?: string }
      }[]
    }
    readonly finish_reason?: string | null
  }[]
  readonly usage?: {
    readonly prompt_tokens?: number
    readonly completion_tokens?: number
    /** US dollars; only from OpenRouter. */
    readonly cost?: unknown
  } | null
}

/** Joins the chunks of an answer: tool call arguments arrive in pieces, token counts after the last text. */
class ReplyAssembler {
  readonly #calls: { id: string; name: string; arguments: string }[] = []
  #finish: string | null = null
  #model: string | undefined
  #id: string | undefined
  #usage: Chunk['usage'];

  *take({ id: answerId, model, error, choices = [], usage }: Chunk): Generator<InferenceChatEvent> {
    if (error !== undefined)
      throw new WireFailure(500, error.message ?? 'the server reports an error without a message')
    this.#model ??= model
    this.#id ??= answerId
    this.#usage = usage ?? this.#usage
    const [choice] = choices
    if (choice === undefined) return
    const { content, reasoning_content, reasoning, tool_calls } = choice.delta ?? {}
    const thinking = reasoning_content || reasoning
    if (thinking) yield { type: 'thinking', text: thinking }
    const text = content || choice.text
    if (text) yield { type: 'text', text }
    for (const { index, id, function: called } of tool_calls ?? []) {
      const call = (this.#calls[index] ??= { id: id ?? `call_${index}`, name: '', arguments: '' })
      call.name += called?.name ?? ''
      call.arguments += called?.arguments ?? ''
    }
    this.#finish = choice.finish_reason ?? this.#finish
  }

  *end(requestedModel: string): Generator<InferenceChatEvent> {
    if (this.#finish === null) throw new WireFailure(502, 'the answer ended without a finish_reason')
    for (const { id, name, arguments: text } of this.#calls) {
      yield { type: 'tool-call', call: { id, name, arguments: parseArguments(name, text) } }
    }
    const called = this.#calls.length > 0
    const cost = this.#usage?.cost
    yield {
      type: 'done',
      finishReason: called ? 'tool-calls' : this.#finish === 'length' ? 'length' : 'stop',
      model: this.#model ?? requestedModel,
      usage: {
        promptTokens: this.#usage?.prompt_tokens ?? 0,
        completionTokens: this.#usage?.completion_tokens ?? 0,
        promptMs: null,
        completionMs: null
      },
      ...(isCost(cost) ? { costUsd: cost } : {}),
      ...(typeof this.#id === 'string' ? { requestId: this.#id } : {})
    }
  }
}

function parseArguments(name: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Reported below, like any other value that is not an object.
  }
  throw new WireFailure(502, `the model calls ${name} with arguments that are not a JSON object: ${text.slice(0, 200)}`)
}

function toChatBody(request: FilledRequest): Record<string, unknown> {
  const { prompt, tools, format } = request
  const messages = prompt === undefined ? request.messages : promptMessages(prompt)
  return {
    ...toSampling(request),
    messages: messages.map(toMessage),
    ...(tools === undefined || prompt !== undefined ? {} : { tools: tools.map(toTool) }),
    ...(format === undefined ? {} : { response_format: toResponseFormat(format) })
  }
}

function toCompletionBody(request: FilledRequest, prompt: string): Record<string, unknown> {
  return { ...toSampling(request), prompt }
}

function toSampling({ model, temperature, topP, maxTokens, seed, stop }: FilledRequest): Record<string, unknown> {
  return {
    model,
    temperature,
    max_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop === undefined ? {} : { stop })
  }
}

function renameFields(
  body: Readonly<Record<string, unknown>>,
  names: NonNullable<OpenAiTarget['fields']>
): Record<string, unknown> {
  const renamed = Object.entries(body).flatMap(([field, value]) => {
    const name = field in names ? names[field as keyof typeof names] : field
    return name === null || name === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(renamed)
}

function promptMessages({ text, system }: InferencePrompt): readonly InferenceMessage[] {
  const user: InferenceMessage = { role: 'user', content: text }
  return system === undefined ? [user] : [{ role: 'system', content: system }, user]
}

function toMessage(message: InferenceMessage): Record<string, unknown> {
  const { role, content, thinking, toolCalls, toolCallId, name, images = [] } = message
  return {
    role,
    content: images.length === 0 ? content : toParts(content, images),
    ...(thinking === undefined ? {} : { reasoning_content: thinking }),
    ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
    ...(name === undefined ? {} : { name }),
    ...(toolCalls === undefined
      ? {}
      : {
          tool_calls: toolCalls.map(call => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: JSON.stringify(call.arguments) }
          }))
        })
  }
}

function toParts(content: string, images: readonly ChatImage[]): object[] {
  const text = content === '' ? [] : [{ type: 'text', text: content }]
  const urls = images.map(image => ('url' in image ? image.url : `data:${image.mediaType};base64,${image.data}`))
  return [...text, ...urls.map(url => ({ type: 'image_url', image_url: { url } }))]
}

function toTool(tool: ChatTool): Record<string, unknown> {
  return { type: 'function', function: { ...tool } }
}

function toResponseFormat(format: NonNullable<FilledRequest['format']>): Readonly<Record<string, unknown>> {
  if (format === 'json') return { type: 'json_object' }
  // Extensions of svc's model server. No JSON Schema has these types.
  if (format.type === 'grammar' || format.type === 'regex') return format
  return { type: 'json_schema', json_schema: { name: 'answer', schema: format, strict: true } }
}

/** JSON may contain numbers that are too large for the type: they become infinite. */
function isCost(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
