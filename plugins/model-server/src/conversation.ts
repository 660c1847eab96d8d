import type { ChatMessage, ChatTool, ChatToolCall, LoadedModel } from '@svc/contracts'
import { defined, errorMessage, isSvcError } from '@svc/plugin-sdk'
import { errors } from './errors.ts'
import { refuseHopelessLength } from './prompt.ts'
import { neutraliseSpecialTokens } from './special-tokens.ts'

/** Input of a chat template. */
export interface Conversation {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly ChatTool[]
  readonly thinking?: boolean
  readonly template?: RequestTemplate
  /** Identity of the client, for fair queueing. */
  readonly client?: string
}

/** Template that replaces the model's: Jinja source, or a compiled template. */
export type RequestTemplate = string | CompiledTemplate

export interface CompiledTemplate {
  readonly text: string
  /** True if it shows tools to the model. */
  readonly hasTools: boolean
  /** True if it can enable and disable thoughts. */
  readonly hasThinking: boolean
  /** Throws `MSV_REQUEST_INVALID` if the template fails or exceeds a limit. */
  render(input: Pick<Conversation, 'messages' | 'tools' | 'thinking'>): string
}

const CHATML_START = '<|im_start|>'
const CHATML_END = '<|im_end|>'

/**
 * Renders a conversation as a prompt, up to the beginning of the assistant's answer.
 *
 * Throws `MSV_CONTEXT_EXCEEDED` if the conversation cannot fit, `MSV_REQUEST_INVALID` if the template rejects it.
 */
export async function renderConversation(
  model: LoadedModel,
  conversation: Conversation,
  contextLength: number
): Promise<string> {
  const { messages, tools, thinking, template, client } = conversation
  refuseHopelessLength(model, messages.map(message => message.content).join('\n'), contextLength)
  const only = messages.length === 1 ? messages[0] : undefined
  const plain = tools === undefined && thinking === undefined && template === undefined
  // Some clients render ChatML themselves and send it as one user message.
  if (plain && only?.role === 'user' && only.content.trimStart().startsWith(CHATML_START) && knowsChatml(model)) {
    const text = only.content.trimStart()
    return text.trimEnd().endsWith(CHATML_END) ? `${text.trimEnd()}\n${CHATML_START}assistant\n` : text
  }
  const harmless = (text: string) => neutraliseSpecialTokens(model, text)
  const shown = messages.map(message => harmlessMessage(message, harmless))
  const options = {
    ...(tools === undefined ? {} : { tools: tools.map(tool => mapStrings(tool, harmless)) }),
    ...defined({ thinking })
  }
  if (typeof template === 'object') return template.render({ messages: shown, ...options })
  try {
    if (template === undefined) return model.renderChat(shown, options)
    return await model.renderTemplate(template, shown, { ...options, ...defined({ client }) })
  } catch (cause) {
    if (isSvcError(cause) && cause.code !== 'INF_CHAT_TEMPLATE_FAILED') throw cause
    const param = template === undefined ? 'messages' : 'template'
    const reason = errorMessage(cause)
    const message = isSvcError(cause) ? reason : `the model's chat template rejects these messages: ${reason}`
    throw errors.create('MSV_REQUEST_INVALID', message, { cause, data: { param } })
  }
}

const FORMER_QUESTION = 'svc-former-question'
const FORMER_ANSWER = 'svc-former-answer'

/**
 * Renders the text between one answer and the next: the end of the old turn and the turns of `messages`.
 * Returns null if the template changes the text of earlier answers.
 */
export async function renderContinuation(
  model: LoadedModel,
  conversation: Conversation,
  contextLength: number
): Promise<string | null> {
  const former: ChatMessage[] = [
    { role: 'user', content: FORMER_QUESTION },
    { role: 'assistant', content: FORMER_ANSWER }
  ]
  const messages = [...former, ...conversation.messages]
  const text = await renderConversation(model, { ...conversation, messages }, contextLength)
  const at = text.indexOf(FORMER_ANSWER)
  return at < 0 ? null : text.slice(at + FORMER_ANSWER.length)
}

function harmlessMessage(message: ChatMessage, harmless: (text: string) => string): ChatMessage {
  const { content, thinking, toolCalls, toolCallId, name } = message
  return {
    ...message,
    content: harmless(content),
    ...(thinking === undefined ? {} : { thinking: harmless(thinking) }),
    ...(toolCallId === undefined ? {} : { toolCallId: harmless(toolCallId) }),
    ...(name === undefined ? {} : { name: harmless(name) }),
    ...(toolCalls === undefined
      ? {}
      : { toolCalls: toolCalls.map((call): ChatToolCall => ({ ...call, ...mapStrings(call, harmless) })) })
  }
}

/** Returns a copy with `change` applied to every string and key. */
function mapStrings<A>(value: A, change: (text: string) => string): A {
  if (typeof value === 'string') return change(value) as A
  if (Array.isArray(value)) return value.map(each => mapStrings(each, change)) as A
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [change(key), mapStrings(each, change)])) as A
}

function knowsChatml(model: LoadedModel): boolean {
  return model.tokenize(CHATML_START, { special: true }).length === 1
}
