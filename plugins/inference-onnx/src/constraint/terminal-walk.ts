import type { Dfa } from './dfa.ts'
import type { TokenTrie } from './token-trie.ts'

/** Effect of all tokens from one state of a terminal, independent of the terminals that follow. */
export interface TerminalWalk {
  /** Tokens that end inside the terminal: a bitmap, or a list if they are few. */
  readonly inside: Uint32Array | null
  readonly few: Int32Array
  /**
   * Pairs of a token in `inside` and the number of characters that start in it, for tokens with more than {@link SHORT}
   * characters.
   */
  readonly long: Int32Array
  /** Pairs of a trie node at which the terminal may end, and the number of characters that started up to there. */
  readonly exits: Int32Array
  /** Number of nodes of the trie that were visited. */
  readonly visited: number
}

/** Maximum remaining length for which walks are cached per exact length. */
export const SHORT = 16

/**
 * Walks all tokens through a terminal's automaton. `between`: state between two characters, or -1 if characters are not
 * counted. Tokens with more than `room` characters are omitted.
 */
export function walkTerminal(trie: TokenTrie, dfa: Dfa, start: number, between: number, room: number): TerminalWalk {
  const { byteOf, depthOf, endOf, firstToken, tokens, nodes } = trie
  const states = new Int32Array(trie.depth + 1)
  const begun = new Int32Array(trie.depth + 1)
  states[0] = start
  const inside = new Uint32Array(Math.ceil(trie.vocabularySize / 32))
  let insideCount = 0
  let visited = 0
  const long: number[] = []
  const exits: number[] = []
  for (let node = 1; node < nodes; ) {
    visited++
    const depth = depthOf[node] as number
    const before = states[depth - 1] as number
    const state = dfa.next(before, byteOf[node] as number)
    if (state < 0) {
      node = endOf[node] as number
      continue
    }
    const ends = dfa.accepts(state)
    let count = begun[depth - 1] as number
    if (before === between && !ends && ++count > room) {
      node = endOf[node] as number
      continue
    }
    if (ends) exits.push(node, count)
    if (!dfa.isOpen(state)) {
      node = endOf[node] as number
      continue
    }
    states[depth] = state
    begun[depth] = count
    const last = firstToken[node + 1] as number
    for (let i = firstToken[node] as number; i < last; i++) {
      const token = tokens[i] as number
      inside[token >> 5] = (inside[token >> 5] as number) | (1 << (token & 31))
      insideCount++
      if (count > SHORT) long.push(token, count)
    }
    node++
  }
  const dense = insideCount > inside.length
  return {
    inside: dense ? inside : null,
    few: dense ? new Int32Array() : tokensOf(inside),
    long: Int32Array.from(long),
    exits: Int32Array.from(exits),
    visited
  }
}

function tokensOf(bits: Uint32Array): Int32Array {
  const tokens: number[] = []
  for (const [word, value] of bits.entries()) {
    for (let rest = value; rest !== 0; rest &= rest - 1) tokens.push(word * 32 + (31 - Math.clz32(rest & -rest)))
  }
  return Int32Array.from(tokens)
}
