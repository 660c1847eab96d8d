import type { Tensor } from 'onnxruntime-node'
import type { ModelConfig } from './model-config.ts'
import type { PhraseBias } from './phrase-bias.ts'
import { argmax, logSoftmax, randomNumbers, sampleIndex } from './probabilities.ts'
import type { Sessions } from './sessions.ts'

export interface DecodingOptions {
  /** Initial tokens of the decoder: start, language, task, no timestamps. */
  readonly prompt: readonly number[]
  /** 0 selects the most probable token; above 0, tokens are sampled. */
  readonly temperature: number
  readonly seed: number
  readonly noSpeech: number | null
  readonly bias: PhraseBias | null
  /** Called before each step; throws to end the decoding. */
  readonly check: () => void
}

export interface Decoded {
  /** Decoded tokens, without the prompt and the end token. */
  readonly tokens: readonly number[]
  /** Mean log probability of the tokens, including the end token. */
  readonly averageLogProbability: number
  /** Probability of no speech; 0 if the model has no token for it. */
  readonly noSpeechProbability: number
}

/** Decodes a recording, token by token. */
export async function decode(
  sessions: Sessions,
  config: ModelConfig,
  encoded: Tensor,
  options: DecodingOptions
): Promise<Decoded> {
  const { prompt, temperature, seed, noSpeech, bias, check } = options
  const random = randomNumbers(seed)
  // As in OpenAI's code, the text uses at most half of the positions, so that repetitions end.
  const limit = Math.min(config.positions - prompt.length, Math.floor(config.positions / 2))
  const decoded: number[] = []
  let sum = 0
  let count = 0
  let step = await sessions.decode(encoded, prompt, null)
  const start = prompt.indexOf(config.start) * config.vocabulary
  const noSpeechProbability =
    noSpeech === null
      ? 0
      : Math.exp(logSoftmax(step.logits.subarray(start, start + config.vocabulary))[noSpeech] as number)
  while (decoded.length < limit) {
    check()
    const logits = step.logits.slice(-config.vocabulary)
    bias?.apply(logits, decoded)
    mask(logits, config, decoded.length === 0)
    const greedy = logSoftmax(logits)
    const token = temperature === 0 ? argmax(greedy) : sampleIndex(logSoftmax(logits, temperature), random())
    sum += greedy[token] as number
    count += 1
    if (token === config.end) break
    decoded.push(token)
    if (decoded.length < limit) step = await sessions.decode(encoded, [token], step.cache)
  }
  return { tokens: decoded, averageLogProbability: count === 0 ? 0 : sum / count, noSpeechProbability }
}

/** Returns the language whose token is most probable after the start token; null for an English-only model. */
export async function detectLanguage(sessions: Sessions, config: ModelConfig, encoded: Tensor): Promise<string | null> {
  const { logits } = await sessions.decode(encoded, [config.start], null)
  let language: string | null = null
  let best = -Infinity
  for (const [code, token] of config.languages) {
    const value = logits[token] ?? -Infinity
    if (value > best) [language, best] = [code, value]
  }
  return language
}

/** Excludes tokens that must not be decoded. Ids above the end token are tasks, languages and timestamps. */
function mask(logits: Float32Array, config: ModelConfig, first: boolean): void {
  logits.fill(-Infinity, config.end + 1)
  for (const token of config.suppressed) logits[token] = -Infinity
  if (first) for (const token of config.suppressedFirst) logits[token] = -Infinity
}
