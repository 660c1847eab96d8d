import type { EmbedderFolder } from './embedder-folder.ts'

/** Maximum bytes of the attention scores of one text: float32 for each head and pair of tokens. */
const MAX_ATTENTION_BYTES = 2 ** 30

/**
 * Returns the longest text in tokens. `positions`: those that the model knows. A limit of the memory for attention keeps
 * a single long text from exhausting the memory of the machine.
 */
export function contextOf({ maxTokens }: Pick<EmbedderFolder, 'maxTokens'>, positions: number, heads: number): number {
  const affordable = Math.floor(Math.sqrt(MAX_ATTENTION_BYTES / Float32Array.BYTES_PER_ELEMENT / heads))
  return Math.min(maxTokens, positions, affordable)
}
