import type { TextGrammarState } from '@svc/contracts'
import { MaskWork } from './mask-work.ts'
import { PushdownState, type Thread } from './pushdown.ts'
import type { KnownState, StateTable } from './state-table.ts'
import { SHORT, type TerminalWalk, walkTerminal } from './terminal-walk.ts'
import type { TokenTrie } from './token-trie.ts'

/** Maximum bytes of cached masks and walks per model; the least recently used are evicted. */
const CACHE_BYTES = 48 * 1024 * 1024

/** Allowed next tokens: one bit for each token of the vocabulary. */
export interface TokenMask {
  readonly bits: Uint32Array
  /** True if any token is allowed. */
  readonly any: boolean
}

/** Computes and caches the tokens that may follow the states of grammars. */
export class TokenMasks {
  readonly #trie: TokenTrie
  readonly #walks: ByteBoundCache<TerminalWalk>
  readonly #masks: ByteBoundCache<TokenMask>
  readonly #scratch: Uint32Array

  constructor(trie: TokenTrie) {
    this.#trie = trie
    this.#walks = new ByteBoundCache(CACHE_BYTES / 2, ({ inside, few, long, exits }) =>
      [inside, few, long, exits].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0)
    )
    this.#masks = new ByteBoundCache(CACHE_BYTES / 2, ({ bits }) => bits.byteLength)
    this.#scratch = new Uint32Array(Math.ceil(trie.vocabularySize / 32))
  }

  /**
   * Returns the mask of a state, which must not be changed. `grammar` identifies the grammar, since states of different
   * grammars may have equal keys. Throws `INF_CONSTRAINT_UNSUPPORTED` if it needs more than the allowed `work`.
   */
  of(known: KnownState, table: StateTable, grammar: number, work = new MaskWork()): TokenMask {
    return this.#masks.get(`${grammar}/${known.state.key}`, () => {
      const bits = new Uint32Array(this.#scratch.length)
      const { state } = known
      work.begin()
      if (state instanceof PushdownState) {
        for (const thread of state.threads) this.#addThread(state, thread, table, bits, work)
      } else {
        this.#walk(0, known, bits, work)
      }
      return { bits, any: bits.some(word => word !== 0) }
    })
  }

  /** Adds the tokens that one thread allows: tokens inside its terminal, and tokens that continue after it. */
  #addThread(state: PushdownState, thread: Thread, table: StateTable, bits: Uint32Array, work: MaskWork): void {
    const { terminal, count } = thread
    const { dfa, between } = terminal
    const room = terminal.maxLength - count
    const walkRoom = room <= SHORT ? room : Number.POSITIVE_INFINITY
    const walk = this.#walks.get(`${dfa.id}:${thread.state}:${between < 0 ? '' : walkRoom}`, () => {
      const made = walkTerminal(this.#trie, dfa, thread.state, between, walkRoom)
      work.spend(made.visited)
      return made
    })
    work.spend(bits.length)
    this.#addInside(walk, room, bits)
    const { exits } = walk
    if (exits.length === 0) return
    const afterThread = state.after(thread)
    work.spend(0, afterThread.work)
    const after = table.intern(afterThread)
    for (let i = 0; i < exits.length; i += 2) {
      const characters = count + (exits[i + 1] as number)
      if (characters < terminal.minLength || characters > terminal.maxLength) continue
      this.#addTokens(exits[i] as number, bits)
      this.#walk(exits[i] as number, after, bits, work)
    }
  }

  #addInside({ inside, few, long }: TerminalWalk, room: number, bits: Uint32Array): void {
    if (inside === null) {
      for (const token of few) set(bits, token)
      for (let i = 0; i < long.length; i += 2) if ((long[i + 1] as number) > room) clear(bits, long[i] as number)
      return
    }
    const own = this.#scratch
    own.set(inside)
    for (let i = 0; i < long.length; i += 2) if ((long[i + 1] as number) > room) clear(own, long[i] as number)
    for (let word = 0; word < own.length; word++) bits[word] = (bits[word] as number) | (own[word] as number)
  }

  /** Adds the tokens below a trie node that can follow a state. */
  #walk(root: number, from: KnownState, bits: Uint32Array, work: MaskWork): void {
    const { byteOf, depthOf, endOf } = this.#trie
    const end = endOf[root] as number
    const base = depthOf[root] as number
    const states: KnownState[] = [from]
    for (let node = root + 1; node < end; ) {
      const depth = (depthOf[node] as number) - base
      const before = states[depth - 1] as KnownState
      const byte = byteOf[node] as number
      work.spend(1)
      const isKnown = before.knows(byte)
      const next = before.next(byte)
      if (!isKnown) work.spend(0, stepsOf(before.state, next?.state))
      if (next === null) {
        node = endOf[node] as number
        continue
      }
      states[depth] = next
      this.#addTokens(node, bits)
      node++
    }
  }

  #addTokens(node: number, bits: Uint32Array): void {
    const { firstToken, tokens } = this.#trie
    const last = firstToken[node + 1] as number
    for (let i = firstToken[node] as number; i < last; i++) set(bits, tokens[i] as number)
  }
}

/** Returns the work of one step, in threads of a pushdown automaton. */
function stepsOf(before: TextGrammarState, after: TextGrammarState | undefined): number {
  const threads = before instanceof PushdownState ? before.threads.length : 1
  return threads + (after instanceof PushdownState ? after.work : 0)
}

function set(bits: Uint32Array, token: number): void {
  bits[token >> 5] = (bits[token >> 5] as number) | (1 << (token & 31))
}

function clear(bits: Uint32Array, token: number): void {
  bits[token >> 5] = (bits[token >> 5] as number) & ~(1 << (token & 31))
}

/** Approximate size of a map entry, in bytes. */
const ENTRY_BYTES = 128

/** LRU cache with a limit in bytes. */
class ByteBoundCache<Value> {
  readonly #limit: number
  readonly #size: (value: Value) => number
  readonly #entries = new Map<string, Value>()
  #bytes = 0

  constructor(limit: number, size: (value: Value) => number) {
    this.#limit = limit
    this.#size = value => size(value) + ENTRY_BYTES
  }

  get(key: string, make: () => Value): Value {
    const found = this.#entries.get(key)
    if (found !== undefined) {
      this.#entries.delete(key)
      this.#entries.set(key, found)
      return found
    }
    const made = make()
    this.#entries.set(key, made)
    this.#bytes += this.#size(made) + key.length
    for (const [oldest, value] of this.#entries) {
      if (this.#bytes <= this.#limit || oldest === key) break
      this.#entries.delete(oldest)
      this.#bytes -= this.#size(value) + oldest.length
    }
    return made
  }
}
