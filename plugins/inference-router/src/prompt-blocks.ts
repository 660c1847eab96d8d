import { hash } from 'node:crypto'

export const BLOCK_BYTES = 1024
/** Blocks of a prompt that are hashed; a longer prompt is only matched up to here. */
const MAX_PROMPT_BLOCKS = 2048
const DIGEST_BYTES = 20

/** A prompt as the placement sees it. */
export interface PromptBlocks {
  /** Chained hashes of the full blocks, 48 bits each. */
  readonly blocks: readonly number[]
  /** Length of the canonical prompt in bytes. */
  readonly bytes: number
  /** Hash of the first block, full or not: the same for all turns of a conversation with a long beginning. */
  readonly first: number
  /** Hash of the whole prompt. */
  readonly last: number
}

/** Hashes a canonical prompt. `scope`: model and adapter; prompts of different scopes have no block in common. */
export function promptBlocks(scope: string, prompt: string): PromptBlocks {
  const bytes = Buffer.from(prompt, 'utf8')
  const blocks: number[] = []
  // Holds the previous digest, then the block.
  const input = Buffer.allocUnsafe(DIGEST_BYTES + BLOCK_BYTES)
  hash('sha1', scope, 'buffer').copy(input)
  let first: number | null = null
  let last = 0
  for (let at = 0; at <= bytes.length && blocks.length < MAX_PROMPT_BLOCKS; at += BLOCK_BYTES) {
    const length = bytes.copy(input, DIGEST_BYTES, at, at + BLOCK_BYTES)
    const digest = hash('sha1', input.subarray(0, DIGEST_BYTES + length), 'buffer')
    digest.copy(input)
    last = digest.readUIntBE(0, 6)
    first ??= last
    if (length === BLOCK_BYTES) blocks.push(last)
  }
  return { blocks, bytes: bytes.length, first: first ?? last, last }
}
