import type { ChatMessage, LoadedModel } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { errors } from './errors.ts'
import { neutraliseSpecialTokens } from './special-tokens.ts'

/** What is to be continued: a conversation, or a text that the model sees as it is. */
export type Prompt =
  | { readonly kind: 'chat'; readonly messages: readonly ChatMessage[] }
  | { readonly kind: 'raw'; readonly text: string }

/**
 * Token ids of a prompt. Throws `MSV_CONTEXT_EXCEEDED` (data: promptTokens, contextLength) when fewer than one token
 * would be left for the answer, and `MSV_REQUEST_INVALID` when the model's chat template refuses the conversation.
 */
export function promptTokens(model: LoadedModel, prompt: Prompt, contextLength: number): readonly number[] {
  refuseHopelessLength(model, prompt, contextLength)
  const text = prompt.kind === 'raw' ? prompt.text : conversationText(model, prompt.messages)
  const tokens = model.tokenize(text, { special: true })
  if (tokens.length >= contextLength) throw contextExceeded(tokens.length, contextLength)
  return tokens
}

export function contextExceeded(promptTokens: number, contextLength: number, atLeast = false): Error {
  return errors.create(
    'MSV_CONTEXT_EXCEEDED',
    `the prompt has ${atLeast ? 'at least ' : ''}${promptTokens} tokens, the context holds ${contextLength} together with the answer`,
    { data: { promptTokens, contextLength }, hint: 'Shorten the prompt, or serve a model with a longer context.' }
  )
}

/** Far more characters for one token than any vocabulary packs into it on average. */
const CHARACTERS_PER_TOKEN = 32

/** Tokenising megabytes would hold up everybody: the first part of such a text tells as much. */
function refuseHopelessLength(model: LoadedModel, prompt: Prompt, contextLength: number): void {
  const text = prompt.kind === 'raw' ? prompt.text : prompt.messages.map(message => message.content).join('\n')
  const head = text.slice(0, contextLength * CHARACTERS_PER_TOKEN)
  if (head.length === text.length) return
  const tokens = model.tokenize(head).length
  if (tokens >= contextLength) throw contextExceeded(tokens, contextLength, true)
}

const CHATML_START = '<|im_start|>'
const CHATML_END = '<|im_end|>'

function conversationText(model: LoadedModel, messages: readonly ChatMessage[]): string {
  const only = messages.length === 1 ? messages[0] : undefined
  // Strict clients render ChatML themselves and send the whole of it as one user message.
  if (only?.role === 'user' && only.content.trimStart().startsWith(CHATML_START) && knowsChatml(model)) {
    const text = only.content.trimStart()
    return text.trimEnd().endsWith(CHATML_END) ? `${text.trimEnd()}\n${CHATML_START}assistant\n` : text
  }
  const harmless = messages.map(({ role, content }) => ({ role, content: neutraliseSpecialTokens(model, content) }))
  try {
    return model.renderChat(harmless)
  } catch (cause) {
    if (isSvcError(cause)) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw errors.create('MSV_REQUEST_INVALID', `the model's chat template refuses these messages: ${reason}`, {
      cause,
      data: { param: 'messages' }
    })
  }
}

function knowsChatml(model: LoadedModel): boolean {
  return model.tokenize(CHATML_START, { special: true }).length === 1
}
