import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { OutputConstraint } from '@svc/contracts'
import { type ConstraintVocabulary, OutputConstraints } from '#constraint'
import { Tokenizer } from '#root'
import { Sampler, seededRandom } from '#sampling'
import { models } from './models.ts'

/** Returns a vocabulary of these strings; the last token is the end token. */
export function vocabularyOf(texts: readonly (string | Uint8Array)[]): ConstraintVocabulary {
  const bytes = texts.map(text => Buffer.from(text as string))
  const end = bytes.length
  return {
    size: end + 1,
    bytes: token => bytes[token] ?? new Uint8Array(),
    isSpecial: token => token === end,
    endTokens: new Set([end])
  }
}

/** Vocabulary with one token for each byte. */
export const byteVocabulary = vocabularyOf(Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte)))

/** Returns the vocabulary of the bundled model. */
export async function bundledVocabulary(): Promise<ConstraintVocabulary> {
  const file = join(models, 'vox-tiny', 'tokenizer.json')
  const tokenizer = new Tokenizer(file, JSON.parse(await readFile(file, 'utf8')), null)
  const end = tokenizer.id('<|im_end|>')
  if (end === null) throw new Error('the bundled tokenizer has no <|im_end|>')
  return {
    size: 2048,
    bytes: token => tokenizer.bytes(token),
    isSpecial: token => tokenizer.isSpecial(token),
    endTokens: new Set([end])
  }
}

export interface Written {
  readonly text: string
  readonly bytes: Uint8Array
  /** True if the text is complete, false at the token limit. */
  readonly complete: boolean
  readonly tokens: readonly number[]
}

export interface WriteOptions {
  readonly seed: number
  readonly maxTokens: number
  readonly temperature?: number
  /** Returns the logit of a token with `text` after `written`. Default: random, but constant for each token. */
  logitOf?(text: string, written: string): number
}

/** Generates text from random logits, so that only the constraint determines its form. */
export async function write(
  constraints: OutputConstraints,
  vocabulary: ConstraintVocabulary,
  constraint: OutputConstraint,
  options: WriteOptions
): Promise<Written> {
  const { seed, maxTokens, temperature = 1 } = options
  const random = seededRandom(seed)
  const sampler = new Sampler({ temperature, topK: seed % 3 === 0 ? 40 : 0, topP: seed % 2 === 0 ? 0.9 : 1 }, random)
  const texts = Array.from({ length: vocabulary.size }, (_, token) =>
    Buffer.from(vocabulary.bytes(token)).toString('latin1')
  )
  const defaultLogits = Float32Array.from(texts, () => random() * 12)
  const { logitOf } = options
  const matcher = await constraints.matcher(constraint, { ignoreEnd: false })
  const tokens: number[] = []
  const parts: Uint8Array[] = []
  let complete = matcher.isFinished()
  while (!complete && tokens.length < maxTokens) {
    const written = logitOf === undefined ? '' : Buffer.concat(parts).toString('latin1')
    const logits = defaultLogits.map((value, token) => (logitOf?.(texts[token] ?? '', written) ?? value) + random() * 4)
    const token = sampler.sample(logits, { history: tokens, allowed: matcher.allowed() })
    matcher.accept(token)
    if (vocabulary.endTokens.has(token)) {
      complete = true
    } else {
      tokens.push(token)
      parts.push(vocabulary.bytes(token))
      complete = matcher.isFinished()
    }
  }
  const bytes = Buffer.concat(parts)
  return { text: bytes.toString('utf8'), bytes, complete, tokens }
}

/**
 * Returns logits that prefer tokens that end a JSON value to tokens that open one. In a recursive definition, `next` is
 * preferred to `value`, which may be recursive several times.
 */
export function closingLogit(text: string, written: string): number {
  if (text === '') return 60
  const quotes = written.replaceAll(/\\./g, '').split('"').length - 1
  if (quotes % 2 === 1) return text === '"' ? 50 : text === 'n' && /[{,] ?"$/.test(written) ? 10 : 0
  return ['}', ']'].includes(text) ? 50 : /[[{,]/.test(text) ? -20 : 0
}

export { OutputConstraints }
