/** Maximum number of blocks; the least recently used ones are dropped. */
const MAX_BLOCKS = 200_000
/** Maximum number of residencies of a block; the least recently used one is replaced. */
const MAX_RESIDENCIES = 3

/**
 * Remembers which servers have seen which prompt prefixes.
 *
 * Keys are chained block hashes, so a key stands for its block and everything before it. Values are residencies: numbers
 * for one model in the memory of one server. A server that restarts gets new numbers, which drops its prefixes.
 */
export class PrefixIndex {
  readonly #maxBlocks: number
  #lastResidency = 0
  /** Residencies by block, most recent first. Blocks are in order of use, oldest first. */
  readonly #blocks = new Map<number, readonly number[]>()

  constructor(maxBlocks = MAX_BLOCKS) {
    this.#maxBlocks = maxBlocks
  }

  /** Returns a number that was not used before. */
  newResidency(): number {
    this.#lastResidency += 1
    return this.#lastResidency
  }

  get size(): number {
    return this.#blocks.size
  }

  /** Returns the number of leading blocks that each residency has seen. */
  match(blocks: readonly number[], residencies: readonly number[]): number[] {
    const matched = residencies.map(() => 0)
    for (const [at, block] of blocks.entries()) {
      const seen = this.#blocks.get(block)
      if (seen === undefined) break
      let grew = false
      for (const [index, residency] of residencies.entries()) {
        if (matched[index] !== at || !seen.includes(residency)) continue
        matched[index] = at + 1
        grew = true
      }
      if (!grew) break
    }
    return matched
  }

  /** Records that a residency has seen the blocks. */
  record(blocks: readonly number[], residency: number): void {
    // The last block first: a block is useless without those before it, so they must be dropped after it.
    for (const block of blocks.toReversed()) {
      const seen = this.#blocks.get(block)
      if (seen !== undefined) this.#blocks.delete(block)
      this.#blocks.set(block, withFirst(seen, residency))
    }
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#maxBlocks) break
      this.#blocks.delete(block)
    }
  }
}

function withFirst(seen: readonly number[] | undefined, residency: number): readonly number[] {
  if (seen === undefined) return [residency]
  if (seen[0] === residency) return seen
  return [residency, ...seen.filter(each => each !== residency)].slice(0, MAX_RESIDENCIES)
}
