import { createHash } from 'node:crypto'
import type { OutputConstraint, TextGrammar } from '@svc/contracts'
import type { Dfa } from './dfa.ts'
import { anyJsonObject, compileJsonSchema } from './json-schema.ts'
import { Matcher, type ReadyConstraint } from './matcher.ts'
import { Network, type NetworkRule, Terminal } from './network.ts'
import { Pushdown } from './pushdown.ts'
import { compileRegex } from './regex.ts'
import { StateTable } from './state-table.ts'
import { TokenMasks } from './token-masks.ts'
import { buildTokenTrie } from './token-trie.ts'
import { unsupported } from './unsupported.ts'

/** Limits of the cache of compiled schemas and patterns: their number, and their total nodes and states. */
const MAX_KEPT = 64
const MAX_KEPT_SIZE = 200_000

export interface ConstraintVocabulary {
  /** Number of token ids. */
  readonly size: number
  /** Returns the bytes of a token. */
  bytes(token: number): Uint8Array
  isSpecial(token: number): boolean
  readonly endTokens: ReadonlySet<number>
}

/** Compiles output constraints for the vocabulary of one model. */
export class OutputConstraints {
  readonly #vocabulary: ConstraintVocabulary
  readonly #kept = new Map<string, { readonly ready: ReadyConstraint; readonly size: number }>()
  readonly #grammars = new WeakMap<TextGrammar, ReadyConstraint>()
  #masks: Promise<TokenMasks> | undefined
  #lastId = 0

  constructor(vocabulary: ConstraintVocabulary) {
    this.#vocabulary = vocabulary
  }

  /**
   * Creates a matcher for one sequence. Throws `INF_CONSTRAINT_UNSUPPORTED`, naming the feature and its location.
   */
  async matcher(constraint: OutputConstraint, options: { readonly ignoreEnd: boolean }): Promise<Matcher> {
    const ready = constraint.type === 'grammar' ? this.#grammar(constraint.grammar) : this.#compiled(constraint)
    this.#masks ??= this.#prepareMasks()
    return new Matcher({
      constraint: ready,
      masks: await this.#masks,
      bytes: token => this.#vocabulary.bytes(token),
      endTokens: options.ignoreEnd ? new Set() : this.#vocabulary.endTokens
    })
  }

  /** Builds the masks once per model, for the first constraint. */
  async #prepareMasks(): Promise<TokenMasks> {
    const { size, endTokens } = this.#vocabulary
    const isText = (token: number) => !this.#vocabulary.isSpecial(token) && !endTokens.has(token)
    return new TokenMasks(await buildTokenTrie({ size, bytes: token => this.#vocabulary.bytes(token), isText }))
  }

  #grammar(grammar: TextGrammar): ReadyConstraint {
    const known = this.#grammars.get(grammar) ?? this.#ready(grammar)
    this.#grammars.set(grammar, known)
    return known
  }

  #compiled(constraint: Exclude<OutputConstraint, { type: 'grammar' }>): ReadyConstraint {
    const key = createHash('sha256').update(JSON.stringify(constraint)).digest('base64')
    const kept = this.#kept.get(key) ?? this.#compile(constraint)
    // Moves the entry to the end: the least recently used one is evicted first.
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    let size = [...this.#kept.values()].reduce((sum, entry) => sum + entry.size, 0)
    for (const [oldest, entry] of this.#kept) {
      if (oldest === key || (this.#kept.size <= MAX_KEPT && size <= MAX_KEPT_SIZE)) break
      this.#kept.delete(oldest)
      size -= entry.size
    }
    return kept.ready
  }

  #compile(constraint: Exclude<OutputConstraint, { type: 'grammar' }>) {
    const pushdown = compile(constraint)
    return { ready: this.#ready(pushdown), size: pushdown.network.size }
  }

  #ready(grammar: TextGrammar): ReadyConstraint {
    const states = new StateTable()
    return { id: ++this.#lastId, states, start: states.know(grammar.start()) }
  }
}

function compile(constraint: Exclude<OutputConstraint, { type: 'grammar' }>): Pushdown {
  const network = compileNetwork(constraint)
  const order = network.callOrder()
  if (order !== null) return new Pushdown(network, order)
  throw unsupported('#', 'a $ref leads back to itself without an object or a list in between')
}

function compileNetwork(constraint: Exclude<OutputConstraint, { type: 'grammar' }>): Network {
  switch (constraint.type) {
    case 'json-object':
      return anyJsonObject()
    case 'json-schema':
      return compileJsonSchema(constraint.schema)
    case 'regex': {
      const dfa = compileRegex(constraint.pattern, { path: 'pattern', match: 'whole' })
      if (dfa === null) throw unsupported('pattern', 'no string matches it')
      return networkOf(dfa)
    }
  }
}

/** Returns a network that accepts the strings of one automaton, including the empty string. */
function networkOf(dfa: Dfa): Network {
  const network = new Network()
  const { start, end } = network.rules[network.rule()] as NetworkRule
  network.terminal(start, new Terminal(dfa), end)
  if (dfa.accepts(0)) network.jump(start, end)
  return network
}
