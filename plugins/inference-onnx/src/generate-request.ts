import type { GenerateRequest } from '@svc/contracts'
import { inferenceErrors } from './errors.ts'

/** Allowed range of each numeric option. */
const ranges: Readonly<Record<string, readonly [number, number]>> = {
  temperature: [0, Number.MAX_VALUE],
  topP: [0, 1],
  minP: [0, 1],
  typicalP: [0, 1],
  repeatPenalty: [Number.MIN_VALUE, Number.MAX_VALUE],
  presencePenalty: [-Number.MAX_VALUE, Number.MAX_VALUE],
  frequencyPenalty: [-Number.MAX_VALUE, Number.MAX_VALUE],
  seed: [-Number.MAX_VALUE, Number.MAX_VALUE]
}
const wholeRanges: Readonly<Record<string, readonly [number, number]>> = {
  topK: [0, Number.MAX_SAFE_INTEGER],
  repeatLastN: [-1, Number.MAX_SAFE_INTEGER],
  maxTokens: [0, Number.MAX_SAFE_INTEGER],
  logprobs: [0, Number.MAX_SAFE_INTEGER]
}

/**
 * Validates a request before any computation.
 *
 * Throws `INF_OPTION_INVALID`, naming the option and its range, and `INF_CONTEXT_EXCEEDED` if the prompt plus one token
 * exceed the context.
 */
export function checkRequest(request: GenerateRequest, vocabularySize: number, contextLength: number): void {
  const options = { ...request.sampling, maxTokens: request.maxTokens, logprobs: request.logprobs }
  for (const [name, value] of Object.entries(options)) {
    const range = ranges[name] ?? wholeRanges[name]
    if (range === undefined || value === undefined) continue
    const valid = name in wholeRanges ? Number.isSafeInteger(value) : Number.isFinite(value)
    if (!valid || (value as number) < range[0] || (value as number) > range[1]) throw outOfRange(name, value, range)
  }
  checkTokens(request.tokens, vocabularySize)
  checkTokens([...(request.sampling?.logitBias?.keys() ?? [])], vocabularySize)
  const promptTokens = request.tokens.length
  if (promptTokens === 0) {
    throw inferenceErrors.create('INF_OPTION_INVALID', 'The prompt is empty: there is nothing to continue', {
      at: { path: 'tokens' }
    })
  }
  if (promptTokens >= contextLength) throw contextExceeded(promptTokens, contextLength)
}

/** Throws `INF_OPTION_INVALID` for a value that is not a whole number of at least 0; undefined is allowed. */
export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return
  throw outOfRange(name, value, [0, Number.MAX_SAFE_INTEGER])
}

/** Throws `INF_OPTION_INVALID` for the first id outside the vocabulary. */
export function checkTokens(tokens: readonly number[], vocabularySize: number): void {
  const index = tokens.findIndex(token => !Number.isSafeInteger(token) || token < 0 || token >= vocabularySize)
  if (index === -1) return
  throw inferenceErrors.create(
    'INF_OPTION_INVALID',
    `Token ${tokens[index]} at position ${index} is not in the vocabulary of ${vocabularySize} tokens`,
    { at: { path: `tokens.${index}` }, data: { token: tokens[index], vocabularySize } }
  )
}

export function contextExceeded(promptTokens: number, contextLength: number) {
  return inferenceErrors.create(
    'INF_CONTEXT_EXCEEDED',
    `The prompt has ${promptTokens} tokens; the context holds ${contextLength}, including the completion`,
    { data: { promptTokens, contextLength }, hint: 'Shorten the prompt, or load the model with a larger maxContext.' }
  )
}

function outOfRange(name: string, value: unknown, [low, high]: readonly [number, number]) {
  return inferenceErrors.create('INF_OPTION_INVALID', `${name} is ${value}; the allowed range is ${low} to ${high}`, {
    at: { path: name },
    data: { name, value, minimum: low, maximum: high }
  })
}
