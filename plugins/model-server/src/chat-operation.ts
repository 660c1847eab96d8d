import {
  type ChatTool,
  type InferenceChatEvent,
  type InferenceChatRequest,
  type InferenceClient,
  type ModelHooks,
  type SamplingOptions,
  textModelNames
} from '@svc/contracts'
import {
  defined,
  defineOperation,
  errorMessage,
  type Handler,
  type Infer,
  isSvcError,
  type Ref,
  t
} from '@svc/plugin-sdk'
import type { AnswerEvent } from './answer/answer.ts'
import { type ChatRequest, startChat } from './chat-answer.ts'
import type { FieldConstraint } from './completions.ts'
import { errors } from './errors.ts'
import type { Grammars } from './grammars.ts'
import { conversationFields } from './openai/chat-body.ts'
import { readChatRequest } from './openai/chat-request.ts'
import { type Listening, reaches } from './own-client.ts'
import { RequestTaps } from './request-taps.ts'
import { adapterOf } from './served-model.ts'
import type { ServedModels } from './served-models.ts'
import { type LogprobEntry, logprobEntries } from './token-logprobs.ts'
import { unsupported } from './unsupported-fields.ts'

const {
  MSV_BUSY,
  MSV_CONSTRAINT_UNSUPPORTED,
  MSV_CONTEXT_EXCEEDED,
  MSV_MEMORY,
  MSV_MODEL_FAILED,
  MSV_MODEL_LOADING,
  MSV_MODEL_UNKNOWN,
  MSV_OTHER_SERVER,
  MSV_REQUEST_INVALID,
  MSV_STOPPED,
  MSV_TIMEOUT,
  MSV_UNSUPPORTED
} = errors.specs
const CHAT_TIMEOUT_MS = 600_000

const tokenLogprob = { token: t.string(), logprob: t.number(), bytes: t.nullable(t.array(t.integer())) }
const logprobs = t.array(t.object({ ...tokenLogprob, top_logprobs: t.array(t.object(tokenLogprob)) }), {
  description: 'Natural logarithm of the probability of each token of the text, with the most probable alternatives.'
})

const toolCall = t.object({
  id: t.string(),
  type: t.enum(['function']),
  function: t.object({ name: t.string(), arguments: t.string({ description: 'JSON text.' }) })
})

const piece = t.union([
  t.object({ type: t.enum(['text']), text: t.string(), logprobs: t.optional(logprobs) }),
  t.object({ type: t.enum(['thinking']), text: t.string() }),
  t.object({ type: t.enum(['call']), index: t.integer(), id: t.string(), name: t.string() }),
  t.object({ type: t.enum(['arguments']), index: t.integer(), text: t.string() })
])

const server = t.enum(['own', 'project'], {
  default: 'own',
  description: 'own: the model of this process. project: the model server of the inference client.'
})

export const modelChat = defineOperation({
  id: 'model.chat',
  summary: 'Continue a conversation with a model',
  description:
    'Fields as in the body of POST /v1/chat/completions. For server project: without logprobs, tool_choice, penalties and template arguments.',
  input: t.object({ ...conversationFields, server }),
  output: t.object({
    model: t.string(),
    message: t.object({
      role: t.enum(['assistant']),
      content: t.string(),
      reasoning_content: t.optional(t.string({ description: 'Thoughts before the answer.' })),
      tool_calls: t.optional(t.array(toolCall))
    }),
    logprobs: t.optional(logprobs),
    finish_reason: t.enum(['stop', 'length', 'tool_calls']),
    usage: t.object({
      prompt_tokens: t.integer(),
      cached_tokens: t.integer({ description: 'Prompt tokens that were read from the cache.' }),
      completion_tokens: t.integer(),
      thinking_tokens: t.integer()
    }),
    timing: t.object(
      {
        queue_ms: t.nullable(t.number()),
        prompt_ms: t.nullable(t.number()),
        completion_ms: t.nullable(t.number())
      },
      { description: 'As the server measured; null if it does not report the time.' }
    )
  }),
  events: piece,
  errors: {
    MSV_BUSY,
    MSV_CONSTRAINT_UNSUPPORTED,
    MSV_CONTEXT_EXCEEDED,
    MSV_MEMORY,
    MSV_MODEL_FAILED,
    MSV_MODEL_LOADING,
    MSV_MODEL_UNKNOWN,
    MSV_OTHER_SERVER,
    MSV_REQUEST_INVALID,
    MSV_STOPPED,
    MSV_TIMEOUT,
    MSV_UNSUPPORTED
  },
  effect: 'read',
  idempotent: false,
  timeoutMs: CHAT_TIMEOUT_MS,
  expose: { http: { method: 'POST', path: '/api/models/chat' }, rpc: true }
})

export const modelChoices = defineOperation({
  id: 'model.choices',
  summary: 'List the models that model.chat can use',
  input: t.object({}),
  output: t.object({
    models: t.array(
      t.object({
        model: t.string(),
        server: t.enum(['own', 'project']),
        url: t.optional(t.string({ description: 'Base URL of the server.' })),
        api: t.enum(['ollama', 'openai'], { description: 'Format of the server.' }),
        tools: t.optional(t.boolean({ description: 'Whether the chat template supports tools; absent: unknown.' })),
        thinking: t.optional(t.boolean({ description: 'Whether thoughts can be enabled; absent: unknown.' }))
      })
    ),
    problem: t.optional(t.string({ description: "Why the models of the project's server are not listed." }))
  }),
  effect: 'read',
  expose: { http: { method: 'GET', path: '/api/models/choices' }, rpc: true }
})

type ChatInput = Infer<typeof modelChat.input>
type ChatOutput = Infer<typeof modelChat.output>
type Piece = Infer<typeof piece>

export interface ChatServices {
  readonly models: ServedModels
  readonly grammars: Grammars
  readonly hooks: ModelHooks
  readonly client: Ref<InferenceClient> | undefined
  readonly listening: Listening
}

export function chatWithModel(services: ChatServices): Handler<typeof modelChat> {
  return async ({ server: target, ...body }, call) => {
    const { choices, model } = readChatRequest(body, services.grammars)
    const [request] = choices
    const emit = (event: Piece): void => call.emit(event)
    if (target === 'own') return ownAnswer(services, request, model, call.signal, emit)
    return projectAnswer(services, body, request, call.signal, emit)
  }
}

export function listChoices(
  { models, client, listening }: ChatServices,
  url: () => string | undefined
): Handler<typeof modelChoices> {
  return async (_, call) => {
    const names = (await models.slots()).flatMap(({ served }) =>
      served.names().map(model => ({
        model,
        server: 'own' as const,
        api: 'openai' as const,
        ...defined({ url: url() }),
        ...served.known?.chatCapabilities
      }))
    )
    const available = client?.available
    if (available === undefined) return { models: names }
    try {
      const endpoint = await available.endpoint(call.signal)
      if (reaches(new URL(endpoint.url), listening)) return { models: names }
      const others = textModelNames(await available.models(call.signal)).map(model => {
        return { model, server: 'project' as const, url: endpoint.url, api: endpoint.api }
      })
      return { models: [...names, ...others] }
    } catch (error) {
      call.signal.throwIfAborted()
      return { models: names, problem: errorMessage(error) }
    }
  }
}

/** Collects the parts of an answer. */
class AnswerParts {
  text = ''
  thinking = ''
  readonly calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = []
  readonly logprobs: LogprobEntry[] = []

  message(): ChatOutput['message'] {
    return {
      role: 'assistant',
      content: this.text,
      ...(this.thinking === '' ? {} : { reasoning_content: this.thinking }),
      ...(this.calls.length === 0 ? {} : { tool_calls: this.calls })
    }
  }
}

async function ownAnswer(
  { models, hooks }: ChatServices,
  request: ChatRequest,
  requested: string | undefined,
  signal: AbortSignal,
  emit: (event: Piece) => void
): Promise<ChatOutput> {
  const startedAt = performance.now()
  const { served, weights, completions } = await models.slot(requested)
  served.check(requested)
  const use = await weights.use(signal)
  try {
    const variant = served.find(requested)
    const options = { ...request.options, ...adapterOf(variant), startedAt }
    const taps = new RequestTaps(hooks, variant.name)
    const { events } = await startChat(served, completions, { ...request, options }, signal, taps)
    const parts = new AnswerParts()
    for await (const event of events) {
      if (event.type === 'done') return outputOf(variant.name, parts, event, request.options.logprobs !== undefined)
      const shown = pieceOf(event, parts)
      if (shown !== undefined) emit(shown)
    }
    throw errors.create('MSV_STOPPED', 'the server stopped before the answer was complete')
  } finally {
    use.release()
  }
}

function pieceOf(event: Exclude<AnswerEvent, { type: 'done' }>, parts: AnswerParts): Piece | undefined {
  switch (event.type) {
    case 'text': {
      parts.text += event.text
      const entries = logprobEntries(event)
      if (entries === undefined) return { type: 'text', text: event.text }
      parts.logprobs.push(...entries)
      return { type: 'text', text: event.text, logprobs: wireLogprobs(entries) }
    }
    case 'thinking':
      parts.thinking += event.text
      return { type: 'thinking', text: event.text }
    case 'call':
      return { type: 'call', index: event.index, id: event.id, name: event.name }
    case 'arguments':
      return { type: 'arguments', index: event.index, text: event.text }
    case 'called': {
      const { id, name, arguments: text } = event.call
      parts.calls.push({ id, type: 'function', function: { name, arguments: text } })
      return undefined
    }
  }
}

function outputOf(
  model: string,
  parts: AnswerParts,
  { finishReason, usage, thinkingTokens }: Extract<AnswerEvent, { type: 'done' }>,
  wantsLogprobs: boolean
): ChatOutput {
  return {
    model,
    message: parts.message(),
    ...(wantsLogprobs ? { logprobs: wireLogprobs(parts.logprobs) } : {}),
    finish_reason: finishReason,
    usage: {
      prompt_tokens: usage.promptTokens,
      cached_tokens: usage.cachedTokens,
      completion_tokens: usage.completionTokens,
      thinking_tokens: thinkingTokens
    },
    timing: { queue_ms: usage.queueNs / 1e6, prompt_ms: usage.promptNs / 1e6, completion_ms: usage.completionNs / 1e6 }
  }
}

function wireLogprobs(entries: readonly LogprobEntry[]): NonNullable<ChatOutput['logprobs']> {
  return entries.map(({ bytes, top_logprobs, ...entry }) => ({
    ...entry,
    bytes: bytes && [...bytes],
    top_logprobs: top_logprobs.map(top => ({ ...top, bytes: top.bytes && [...top.bytes] }))
  }))
}

/** Fields that the inference client cannot pass on. */
const OWN_ONLY = [
  'logprobs',
  'top_logprobs',
  'tool_choice',
  'parallel_tool_calls',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'top_k',
  'min_p',
  'typical_p',
  'repetition_penalty',
  'reasoning_effort',
  'chat_template_kwargs'
] as const

async function projectAnswer(
  { client }: ChatServices,
  body: Omit<ChatInput, 'server'>,
  { intent, options }: ChatRequest,
  signal: AbortSignal,
  emit: (event: Piece) => void
): Promise<ChatOutput> {
  for (const field of OWN_ONLY) {
    if (body[field] !== undefined) throw unsupported(field, 'only the own server supports it')
  }
  const available = client?.available
  if (available === undefined) throw otherServer('the plugin inference-client does not run')
  const { temperature, topP, seed }: SamplingOptions = options.sampling
  const { maxTokens } = options
  const request: InferenceChatRequest = {
    messages: intent.messages,
    signal,
    ...defined({
      model: body.model,
      temperature,
      topP,
      seed,
      maxTokens: maxTokens === 'rest' ? undefined : maxTokens,
      stop: options.stop,
      format: body.response_format === undefined ? undefined : formatOf(intent.constraint),
      tools: intent.tools?.functions as readonly ChatTool[] | undefined
    })
  }
  const parts = new AnswerParts()
  try {
    for await (const event of available.chat(request)) {
      if (event.type === 'done') return outputOfClient(parts, event)
      readClientEvent(event, parts, emit)
    }
  } catch (error) {
    signal.throwIfAborted()
    if (!isSvcError(error)) throw error
    throw otherServer(error.message, error)
  }
  throw otherServer('the answer ended without its final event')
}

function readClientEvent(
  event: Exclude<InferenceChatEvent, { type: 'done' }>,
  parts: AnswerParts,
  emit: (event: Piece) => void
): void {
  if (event.type === 'tool-call') {
    const { id, name, arguments: values } = event.call
    const index = parts.calls.length
    const text = JSON.stringify(values)
    parts.calls.push({ id, type: 'function', function: { name, arguments: text } })
    emit({ type: 'call', index, id, name })
    emit({ type: 'arguments', index, text })
  } else {
    parts[event.type] += event.text
    emit({ type: event.type, text: event.text })
  }
}

function outputOfClient(
  parts: AnswerParts,
  { model, finishReason, usage }: Extract<InferenceChatEvent, { type: 'done' }>
): ChatOutput {
  return {
    model,
    message: parts.message(),
    finish_reason: finishReason === 'tool-calls' ? 'tool_calls' : finishReason,
    usage: {
      prompt_tokens: usage.promptTokens,
      cached_tokens: 0,
      completion_tokens: usage.completionTokens,
      thinking_tokens: 0
    },
    timing: { queue_ms: null, prompt_ms: usage.promptMs, completion_ms: usage.completionMs }
  }
}

function formatOf(constraint: FieldConstraint | undefined): InferenceChatRequest['format'] {
  if (constraint === undefined) return undefined
  const { field, value } = constraint
  if (value.type === 'json-object') return 'json'
  if (value.type === 'json-schema') return value.schema
  throw unsupported(field, `only the own server supports the format '${value.type}'`)
}

function otherServer(message: string, cause?: Error): Error {
  return errors.create('MSV_OTHER_SERVER', message, {
    ...defined({ cause, hint: (cause as { hint?: string } | undefined)?.hint })
  })
}
