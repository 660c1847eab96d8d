import type { LoadedModel } from '@svc/contracts'
import { invalid } from './body-reader.ts'
import { fillInTheMiddle } from './fill-in-the-middle.ts'
import type { Prompt } from './prompt.ts'

/** Prompt without a conversation; `suffix`: text that follows the answer. */
export interface TextPrompt {
  readonly prompt: string | readonly number[]
  readonly suffix?: string
}

/** Returns the tokens or the text of a prompt. Throws `MSV_REQUEST_INVALID`, and like {@link fillInTheMiddle}. */
export function promptOf(model: LoadedModel, name: string, { prompt, suffix }: TextPrompt): Prompt {
  refuseUnknownTokens(model, prompt)
  if (suffix !== undefined) {
    return { kind: 'tokens', tokens: fillInTheMiddle(model, name, textOf(model, prompt), suffix) }
  }
  if (typeof prompt === 'string') return { kind: 'text', text: prompt, begin: true }
  return { kind: 'tokens', tokens: prompt }
}

/** Throws `MSV_REQUEST_INVALID` if the vocabulary lacks a token of the prompt. */
export function refuseUnknownTokens(model: LoadedModel, prompt: TextPrompt['prompt']): void {
  const unknown = typeof prompt === 'string' ? undefined : prompt.find(token => token >= model.info.vocabularySize)
  if (unknown !== undefined) throw invalid(`'prompt' contains ${unknown}, which is not a token of this model`, 'prompt')
}

export function textOf(model: LoadedModel, prompt: TextPrompt['prompt']): string {
  return typeof prompt === 'string' ? prompt : model.detokenize(prompt)
}
