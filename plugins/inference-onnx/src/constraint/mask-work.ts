import { unsupported } from './unsupported.ts'

/** Work for one mask: about a third of a second on the event loop. */
const MAX_FOR_MASK = 16_000_000
/** Work for all masks of one sequence: some seconds. */
const MAX_FOR_SEQUENCE = 400_000_000
/** Work to advance one thread, or to visit one position, of a pushdown automaton, relative to one node of the trie. */
const THREAD = 40

/**
 * Limit on the work for the masks of one sequence. A constraint of a request could otherwise occupy the event loop with
 * thousands of ways to continue. The unit is one node of the token trie.
 */
export class MaskWork {
  #left = MAX_FOR_SEQUENCE
  #leftForMask = MAX_FOR_MASK

  /** Begins the next mask. */
  begin(): void {
    this.#leftForMask = MAX_FOR_MASK
  }

  /** Throws `INF_CONSTRAINT_UNSUPPORTED` if the limit is exceeded. */
  spend(nodes: number, threads = 0): void {
    const work = nodes + threads * THREAD
    this.#left -= work
    this.#leftForMask -= work
    if (this.#left >= 0 && this.#leftForMask >= 0) return
    throw unsupported('#', 'it is too ambiguous: its text can be continued in too many ways')
  }
}
