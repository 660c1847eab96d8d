import type { Job } from './job.ts'

/** Prompt that nothing was computed of. */
export type WaitingPrompt = Pick<Job, 'tokens' | 'wanted' | 'weights' | 'reusePrefix' | 'maxChunk'>

/** Padding per prompt that costs less time than a separate run, whatever the weights. */
const PADDING = 8
/** Tokens that it is faster to copy from another prompt of the group than to compute in its run. */
const SHARED = 16

/**
 * Returns the prompts, of `others`, that are computed in one run with `first`, in the order of `others`.
 *
 * A run for few tokens costs hardly less than one for some more, because it reads all weights. In one run all prompts
 * have the length of the longest, so their lengths are similar, and together they are not longer than one chunk. Prompts
 * with the same beginning are computed one after the other, because the later ones copy it.
 */
export function promptsWith<P>(
  first: P,
  others: Iterable<P>,
  { chunk, promptOf }: { readonly chunk: number; promptOf(each: P): WaitingPrompt }
): P[] {
  const group = [first]
  const start = promptOf(first)
  if (!isWhole(start, chunk)) return []
  let [longest, sum] = [start.tokens.length, start.tokens.length]
  for (const other of others) {
    const prompt = promptOf(other)
    const { length } = prompt.tokens
    const padded = (group.length + 1) * Math.max(longest, length)
    if (padded > chunk || padded - sum - length > PADDING * group.length) continue
    if (!isWhole(prompt, chunk) || group.some(each => sharesBeginning(promptOf(each), prompt))) continue
    group.push(other)
    longest = Math.max(longest, length)
    sum += length
  }
  return group.slice(1)
}

/** True if the prompt is read in one run, and only its last token needs logits. */
function isWhole({ tokens, wanted, maxChunk = Number.POSITIVE_INFINITY }: WaitingPrompt, chunk: number): boolean {
  return wanted === 'last' && tokens.length > 0 && tokens.length <= Math.min(chunk, maxChunk)
}

function sharesBeginning(a: WaitingPrompt, b: WaitingPrompt): boolean {
  if (!b.reusePrefix || a.weights !== b.weights) return false
  const most = Math.min(a.tokens.length, b.tokens.length, SHARED)
  if (most < SHARED) return false
  for (let i = 0; i < most; i++) if (a.tokens[i] !== b.tokens[i]) return false
  return true
}
