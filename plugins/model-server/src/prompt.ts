import type { LoadedModel } from '@svc/contracts'
import { invalid } from './body-reader.ts'
import { errors } from './errors.ts'

/**
 * Text or tokens that the model continues. Names of special tokens in the text become those tokens. `begin`: whether to
 * add the model's begin-of-text token; chat templates write it themselves.
 */
export type Prompt =
  | { readonly kind: 'text'; readonly text: string; readonly begin?: boolean }
  | { readonly kind: 'tokens'; readonly tokens: readonly number[] }

/**
 * Returns the token ids of a prompt. Throws `MSV_CONTEXT_EXCEEDED` (data: promptTokens, contextLength) if no token is
 * left for the answer, and `MSV_REQUEST_INVALID` for an empty prompt.
 */
export function promptTokens(model: LoadedModel, prompt: Prompt, contextLength: number): readonly number[] {
  if (prompt.kind === 'text') refuseHopelessLength(model, prompt.text, contextLength)
  const tokens =
    prompt.kind === 'tokens'
      ? prompt.tokens
      : model.tokenize(prompt.text, { special: true, begin: prompt.begin ?? false })
  if (tokens.length === 0) throw invalid(`'prompt' must not be empty: there is nothing to continue`, 'prompt')
  if (tokens.length >= contextLength) throw contextExceeded(tokens.length, contextLength)
  return tokens
}

/**
 * Returns the error for a prompt that leaves no room for an answer. LiteLLM and LangChain recognise it by the words
 * "prompt is too long", which is how Anthropic's API begins.
 */
export function contextExceeded(promptTokens: number, contextLength: number, atLeast = false): Error {
  return errors.create(
    'MSV_CONTEXT_EXCEEDED',
    `the prompt is too long: it has ${atLeast ? 'at least ' : ''}${promptTokens} tokens; the context holds ${contextLength} tokens, including the answer`,
    { data: { promptTokens, contextLength }, hint: 'Shorten the prompt, or serve a model with a longer context.' }
  )
}

/** Upper bound on the mean number of characters per token, for any vocabulary. */
const CHARACTERS_PER_TOKEN = 32

/**
 * Rejects text that is far too long after tokenising only its beginning: megabytes would block the event loop.
 * Throws `MSV_CONTEXT_EXCEEDED`.
 */
export function refuseHopelessLength(model: LoadedModel, text: string, contextLength: number): void {
  const head = text.slice(0, contextLength * CHARACTERS_PER_TOKEN)
  if (head.length === text.length) return
  const tokens = model.tokenize(head).length
  if (tokens >= contextLength) throw contextExceeded(tokens, contextLength, true)
}
