import type { ScoredToken, ScoreRequest } from '@svc/contracts'
import { logprobs } from './sampling/logits.ts'
import type { Tokenizer } from './tokenizer.ts'
import { checkLogits } from './weights/finite.ts'

/** Logits that are computed and weighed at once: 8 MiB, and about 10 ms of the event loop. */
const MAX_LOGITS = 2 ** 21
const MIN_CHUNK = 4
const MAX_CHUNK = 64

/** Returns the maximum number of tokens that are scored at once. */
export function scoredTogether(vocabularySize: number): number {
  return Math.max(MIN_CHUNK, Math.min(MAX_CHUNK, Math.floor(MAX_LOGITS / vocabularySize)))
}

/** Returns a function that scores the tokens that follow those of a chunk, from its logits. */
export function scorer(
  { tokens, top = 0 }: ScoreRequest,
  tokenizer: Pick<Tokenizer, 'bytes'>,
  vocabularySize: number
): (logits: Float32Array, start: number) => ScoredToken[] {
  const text = (id: number) => Buffer.from(tokenizer.bytes(id)).toString('utf8')
  return (logits, start) => {
    checkLogits(logits.subarray(0, vocabularySize))
    const rows = logits.length / vocabularySize
    return tokens.slice(start + 1, start + 1 + rows).map((next, i) => {
      const row = logits.subarray(i * vocabularySize, (i + 1) * vocabularySize)
      return { ...logprobs(row, next, top, text), rank: rankOf(row, next) }
    })
  }
}

function rankOf(logits: Float32Array, token: number): number {
  const own = logits[token] as number
  let rank = 1
  for (let other = 0; other < logits.length; other++) if ((logits[other] as number) > own) rank++
  return rank
}
