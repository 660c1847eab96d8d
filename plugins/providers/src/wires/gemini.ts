import {
  type ChatImage,
  type FilledChatRequest,
  type InferenceChatEvent,
  type InferenceMessage,
  WireFailure
} from '@svc/contracts'
import type { NativeTarget } from './anthropic.ts'
import { postForEvents } from './events.ts'

/** Maximum signatures of tool calls in memory. */
const MAX_SIGNATURES = 1_000

/** Client of Google's Gemini API, `models.streamGenerateContent`. */
export class GeminiWire {
  /** Signatures that newer models expect back with their tool calls, by the id of the call. */
  readonly #signatures = new Map<string, string>()

  /** Sends a request. Throws `WireFailure` and the errors of `fetch`. `url`: base URL with the version. */
  async *chat(
    { url, apiKey }: NativeTarget,
    request: FilledChatRequest,
    signal: AbortSignal
  ): AsyncGenerator<InferenceChatEvent, void> {
    const address = `${url.replace(/\/+$/, '')}/models/${encodeURIComponent(request.model)}:streamGenerateContent?alt=sse`
    const answer = new Answer(request.model)
    const body = this.#toBody(request)
    for await (const event of postForEvents({ url: address, headers: { 'x-goog-api-key': apiKey }, body, signal })) {
      yield* answer.take(event as Chunk, (id, signature) => this.#remember(id, signature))
    }
    yield answer.end()
  }

  #remember(id: string, signature: string): void {
    this.#signatures.set(id, signature)
    const [oldest] = this.#signatures.keys()
    if (this.#signatures.size > MAX_SIGNATURES && oldest !== undefined) this.#signatures.delete(oldest)
  }

  #toBody(request: FilledChatRequest): object {
    const { messages, maxTokens, temperature, topP, seed, stop, tools = [], format } = request
    const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content)
    // The API rejects a response format together with tools.
    const json = tools.length === 0 ? format : undefined
    return {
      contents: this.#toContents(messages),
      ...(system.length === 0 ? {} : { systemInstruction: { parts: [{ text: system.join('\n\n') }] } }),
      ...(tools.length === 0
        ? {}
        : {
            tools: [
              {
                functionDeclarations: tools.map(({ name, description, parameters }) => ({
                  name,
                  description: description ?? name,
                  parametersJsonSchema: parameters
                }))
              }
            ]
          }),
      generationConfig: {
        maxOutputTokens: maxTokens,
        temperature,
        ...(topP === undefined ? {} : { topP }),
        ...(seed === undefined ? {} : { seed }),
        ...(stop === undefined ? {} : { stopSequences: stop }),
        ...(json === undefined ? {} : { responseMimeType: 'application/json' }),
        ...(typeof json === 'object' ? { responseJsonSchema: json } : {})
      }
    }
  }

  /** Joins messages of the same role, and names the functions whose results are returned. */
  #toContents(messages: readonly InferenceMessage[]): Content[] {
    const names = new Map(
      messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id, name }) => [id, name] as const))
    )
    const contents: Content[] = []
    for (const message of messages) {
      if (message.role === 'system') continue
      const role = message.role === 'assistant' ? 'model' : 'user'
      const parts = this.#toParts(message, names)
      if (parts.length === 0) continue
      const last = contents.at(-1)
      if (last?.role === role) last.parts.push(...parts)
      else contents.push({ role, parts })
    }
    return contents
  }

  #toParts(
    { role, content, toolCalls = [], toolCallId = '', name, images = [] }: InferenceMessage,
    names: ReadonlyMap<string, string>
  ): object[] {
    if (role === 'tool') {
      return [
        { functionResponse: { name: names.get(toolCallId) ?? name ?? toolCallId, response: toResponse(content) } }
      ]
    }
    const calls = toolCalls.map(call => {
      const signature = this.#signatures.get(call.id)
      const part = { functionCall: { name: call.name, args: call.arguments } }
      return signature === undefined ? part : { ...part, thoughtSignature: signature }
    })
    // A model follows a question better if it comes after the image.
    return [...images.map(toImagePart), ...(content === '' ? [] : [{ text: content }]), ...calls]
  }
}

interface Content {
  readonly role: 'user' | 'model'
  readonly parts: object[]
}

function toImagePart(image: ChatImage): object {
  if ('url' in image) throw new WireFailure(400, 'Gemini takes images as data, not as addresses')
  return { inlineData: { mimeType: image.mediaType, data: image.data } }
}

/** The API expects an object; other results become its field `result`. */
function toResponse(content: string): object {
  try {
    const value: unknown = JSON.parse(content)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Text.
  }
  return { result: content }
}

interface Part {
  readonly text?: string
  /** True if the text is a summary of the model's reasoning. */
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: { readonly id?: string; readonly name?: string; readonly args?: Record<string, unknown> }
}

interface Chunk {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly Part[] }
    readonly finishReason?: string
  }[]
  readonly promptFeedback?: { readonly blockReason?: string }
  readonly usageMetadata?: {
    readonly promptTokenCount?: number
    readonly candidatesTokenCount?: number
    readonly thoughtsTokenCount?: number
  }
  readonly modelVersion?: string
  readonly responseId?: string
  readonly error?: { readonly code?: number; readonly message?: string }
}

class Answer {
  #model: string
  #id: string | undefined
  #finish: string | null = null
  #called = 0
  #usage: Chunk['usageMetadata']

  constructor(model: string) {
    this.#model = model
  }

  *take(chunk: Chunk, remember: (id: string, signature: string) => void): Generator<InferenceChatEvent> {
    const { candidates = [], promptFeedback, usageMetadata, modelVersion, responseId, error } = chunk
    if (error !== undefined) throw new WireFailure(error.code ?? 500, error.message ?? 'the provider reports an error')
    if (promptFeedback?.blockReason !== undefined)
      throw new WireFailure(400, `the prompt was blocked: ${promptFeedback.blockReason}`)
    this.#model = modelVersion ?? this.#model
    this.#id ??= responseId
    this.#usage = usageMetadata ?? this.#usage
    const [candidate] = candidates
    for (const part of candidate?.content?.parts ?? []) yield* this.#part(part, remember)
    this.#finish = candidate?.finishReason ?? this.#finish
  }

  *#part(
    { text, thought, thoughtSignature, functionCall }: Part,
    remember: (id: string, signature: string) => void
  ): Generator<InferenceChatEvent> {
    if (text) yield { type: thought === true ? 'thinking' : 'text', text }
    if (functionCall?.name === undefined) return
    // The API gives ids only to some models; conversations need one for each call.
    const id = functionCall.id ?? `call_${this.#id ?? crypto.randomUUID()}_${this.#called}`
    this.#called += 1
    if (thoughtSignature !== undefined) remember(id, thoughtSignature)
    yield { type: 'tool-call', call: { id, name: functionCall.name, arguments: functionCall.args ?? {} } }
  }

  end(): InferenceChatEvent {
    if (this.#finish === null) throw new WireFailure(502, 'the answer ended without a finishReason')
    const { promptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = this.#usage ?? {}
    return {
      type: 'done',
      finishReason: this.#called > 0 ? 'tool-calls' : this.#finish === 'MAX_TOKENS' ? 'length' : 'stop',
      model: this.#model,
      usage: {
        promptTokens: promptTokenCount,
        completionTokens: candidatesTokenCount + thoughtsTokenCount,
        promptMs: null,
        completionMs: null
      },
      ...(this.#id === undefined ? {} : { requestId: this.#id })
    }
  }
}
