import {
  type ChatImage,
  type FilledChatRequest,
  type InferenceChatEvent,
  type InferenceMessage,
  WireFailure
} from '@svc/contracts'
import { parseArguments, postForEvents } from './events.ts'

export interface NativeTarget {
  readonly url: string
  readonly apiKey: string
}

const VERSION = '2023-06-01'
/** Tool through which the model returns JSON for a schema, since the API has no response format. */
const ANSWER_TOOL = 'json_answer'
const JSON_ONLY = 'Answer with one JSON object, and with nothing else.'
/** HTTP status of the error types in a stream. */
const STATUS: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  overloaded_error: 529
}

/** Sends a request to Anthropic's Messages API, version 2023-06-01. Throws `WireFailure` and the errors of `fetch`. */
export async function* chatWithAnthropic(
  { url, apiKey }: NativeTarget,
  request: FilledChatRequest,
  signal: AbortSignal
): AsyncGenerator<InferenceChatEvent, void> {
  const headers = { 'x-api-key': apiKey, 'anthropic-version': VERSION }
  const answer = new Answer(request.model, schemaOf(request) !== undefined)
  for await (const event of postForEvents({ url, headers, body: toBody(request), signal })) {
    yield* answer.take(event as StreamEvent)
    if (answer.isComplete) break
  }
  yield answer.end()
}

type Block = Readonly<Record<string, unknown>>
interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: Block[]
}

/** Returns the schema for which the model gets {@link ANSWER_TOOL}; a request with tools has none. */
function schemaOf({ format, tools = [] }: FilledChatRequest): object | undefined {
  return typeof format === 'object' && tools.length === 0 ? format : undefined
}

function toBody(request: FilledChatRequest): object {
  const { model, messages, maxTokens, temperature, topP, stop, tools = [], format } = request
  const schema = schemaOf(request)
  const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content)
  if (format !== undefined && schema === undefined) system.push(JSON_ONLY)
  const offered =
    schema === undefined
      ? tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }))
      : [{ name: ANSWER_TOOL, description: 'Returns the answer.', input_schema: schema }]
  return {
    model,
    max_tokens: maxTokens,
    stream: true,
    messages: toTurns(messages),
    ...(system.length === 0 ? {} : { system: system.join('\n\n') }),
    // Newer models reject both together. The API's temperatures end at 1.
    ...(topP === undefined ? { temperature: Math.min(1, temperature) } : { top_p: topP }),
    ...(stop === undefined ? {} : { stop_sequences: stop }),
    ...(offered.length === 0 ? {} : { tools: offered }),
    ...(schema === undefined ? {} : { tool_choice: { type: 'tool', name: ANSWER_TOOL } })
  }
}

/** Joins messages of the same role: the API expects the results of several calls in one message. */
function toTurns(messages: readonly InferenceMessage[]): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role === 'system') continue
    const role = message.role === 'assistant' ? 'assistant' : 'user'
    const content = toBlocks(message)
    if (content.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  return turns
}

function toBlocks({ role, content, toolCalls = [], toolCallId, images = [] }: InferenceMessage): Block[] {
  if (role === 'tool') return [{ type: 'tool_result', tool_use_id: toolCallId ?? '', content }]
  // The API rejects blocks without text.
  const text = content === '' ? [] : [{ type: 'text', text: content }]
  return [
    // A model follows a question better if it comes after the image.
    ...images.map(image => ({ type: 'image', source: toSource(image) })),
    ...text,
    ...toolCalls.map(call => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments }))
  ]
}

function toSource(image: ChatImage): Block {
  if ('url' in image) return { type: 'url', url: image.url }
  return { type: 'base64', media_type: image.mediaType, data: image.data }
}

interface Usage {
  readonly input_tokens?: number
  readonly output_tokens?: number
  readonly cache_creation_input_tokens?: number | null
  readonly cache_read_input_tokens?: number | null
}

interface StreamEvent {
  readonly type?: string
  readonly index?: number
  readonly message?: { readonly id?: string; readonly model?: string; readonly usage?: Usage }
  readonly content_block?: {
    readonly type?: string
    readonly id?: string
    readonly name?: string
    readonly text?: string
  }
  readonly delta?: {
    readonly type?: string
    readonly text?: string
    readonly thinking?: string
    readonly partial_json?: string
    readonly stop_reason?: string | null
  }
  readonly usage?: Usage
  readonly error?: { readonly type?: string; readonly message?: string }
}

/** Assembles the events of a stream. Events of unknown types are skipped, as the API demands. */
class Answer {
  readonly #calls = new Map<number, { readonly id: string; readonly name: string; json: string }>()
  /** Whether {@link ANSWER_TOOL} was offered: a tool of the caller may have its name. */
  readonly #isForSchema: boolean
  #model: string
  #id: string | undefined
  #inputTokens = 0
  #outputTokens = 0
  #stopReason: string | null = null
  #called = false
  isComplete = false

  constructor(model: string, isForSchema: boolean) {
    this.#model = model
    this.#isForSchema = isForSchema
  }

  *take({ type, index = 0, message, content_block, delta, usage, error }: StreamEvent): Generator<InferenceChatEvent> {
    if (type === 'message_start') {
      this.#id = message?.id
      this.#model = message?.model ?? this.#model
      this.#count(message?.usage)
    } else if (type === 'content_block_start') {
      if (content_block?.type === 'tool_use') {
        this.#calls.set(index, { id: content_block.id ?? `call_${index}`, name: content_block.name ?? '', json: '' })
      } else if (content_block?.text) yield { type: 'text', text: content_block.text }
    } else if (type === 'content_block_delta') yield* this.#delta(index, delta ?? {})
    else if (type === 'content_block_stop') yield* this.#endCall(index)
    else if (type === 'message_delta') {
      this.#stopReason = delta?.stop_reason ?? this.#stopReason
      this.#count(usage)
    } else if (type === 'message_stop') this.isComplete = true
    else if (type === 'error') {
      throw new WireFailure(STATUS[error?.type ?? ''] ?? 500, error?.message ?? 'the provider reports an error')
    }
  }

  *#delta(
    index: number,
    { type, text, thinking, partial_json }: NonNullable<StreamEvent['delta']>
  ): Generator<InferenceChatEvent> {
    if (type === 'text_delta' && text) yield { type: 'text', text }
    if (type === 'thinking_delta' && thinking) yield { type: 'thinking', text: thinking }
    const call = this.#calls.get(index)
    if (type !== 'input_json_delta' || !partial_json || call === undefined) return
    if (this.#isAnswer(call.name)) yield { type: 'text', text: partial_json }
    else call.json += partial_json
  }

  *#endCall(index: number): Generator<InferenceChatEvent> {
    const call = this.#calls.get(index)
    this.#calls.delete(index)
    if (call === undefined || this.#isAnswer(call.name)) return
    this.#called = true
    yield { type: 'tool-call', call: { id: call.id, name: call.name, arguments: parseArguments(call.name, call.json) } }
  }

  #isAnswer(name: string): boolean {
    return this.#isForSchema && name === ANSWER_TOOL
  }

  #count(usage: Usage | undefined): void {
    if (usage === undefined) return
    const { input_tokens, output_tokens, cache_creation_input_tokens: created, cache_read_input_tokens: read } = usage
    if (input_tokens !== undefined) this.#inputTokens = input_tokens + (created ?? 0) + (read ?? 0)
    this.#outputTokens = output_tokens ?? this.#outputTokens
  }

  end(): InferenceChatEvent {
    if (!this.isComplete) throw new WireFailure(502, 'the answer ended without the event message_stop')
    return {
      type: 'done',
      finishReason: this.#called ? 'tool-calls' : this.#stopReason === 'max_tokens' ? 'length' : 'stop',
      model: this.#model,
      usage: {
        promptTokens: this.#inputTokens,
        completionTokens: this.#outputTokens,
        promptMs: null,
        completionMs: null
      },
      ...(this.#id === undefined ? {} : { requestId: this.#id })
    }
  }
}
