import { createHash } from 'node:crypto'
import type { OutputConstraint, TextGrammar } from '@svc/contracts'
import type { Dfa } from './dfa.ts'
import { compileGbnf } from './gbnf.ts'
import { anyJsonObject, compileJsonSchema } from './json-schema.ts'
import { type CompiledConstraint, Matcher } from './matcher.ts'
import { Network, type NetworkRule, Terminal } from './network.ts'
import { Pushdown } from './pushdown.ts'
import { compileRegex } from './regex.ts'
import { StateTable } from './state-table.ts'
import { TokenMasks } from './token-masks.ts'
import { buildTokenTrie } from './token-trie.ts'
import { unsupported } from './unsupported.ts'

/** Limits of the cache of compiled schemas and patterns: their number, and their total nodes and states. */
const MAX_CACHED = 64
const MAX_CACHED_SIZE = 200_000

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
  readonly #cache = new Map<string, { readonly compiled: CompiledConstraint; readonly size: number }>()
  readonly #grammars = new WeakMap<TextGrammar, CompiledConstraint>()
  #masks: Promise<TokenMasks> | undefined
  #lastId = 0

  constructor(vocabulary: ConstraintVocabulary) {
    this.#vocabulary = vocabulary
  }

  /**
   * Creates a matcher for one sequence. Throws `INF_CONSTRAINT_UNSUPPORTED`, naming the feature and its location.
   */
  async matcher(constraint: OutputConstraint, options: { readonly ignoreEnd: boolean }): Promise<Matcher> {
    const compiled =
      constraint.type === 'grammar' ? this.#grammar(constraint.grammar) : this.#cachedConstraint(constraint)
    this.#masks ??= this.#prepareMasks()
    return new Matcher({
      constraint: compiled,
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

  #grammar(grammar: TextGrammar): CompiledConstraint {
    const compiled = this.#grammars.get(grammar) ?? this.#newConstraint(grammar)
    this.#grammars.set(grammar, compiled)
    return compiled
  }

  #cachedConstraint(constraint: Exclude<OutputConstraint, { type: 'grammar' }>): CompiledConstraint {
    const key = createHash('sha256').update(JSON.stringify(constraint)).digest('base64')
    const cached = this.#cache.get(key) ?? this.#compile(constraint)
    // Moves the entry to the end: the least recently used one is evicted first.
    this.#cache.delete(key)
    this.#cache.set(key, cached)
    let size = [...this.#cache.values()].reduce((sum, entry) => sum + entry.size, 0)
    for (const [oldest, entry] of this.#cache) {
      if (oldest === key || (this.#cache.size <= MAX_CACHED && size <= MAX_CACHED_SIZE)) break
      this.#cache.delete(oldest)
      size -= entry.size
    }
    return cached.compiled
  }

  #compile(constraint: Exclude<OutputConstraint, { type: 'grammar' }>) {
    const pushdown = compile(constraint)
    return { compiled: this.#newConstraint(pushdown), size: pushdown.network.size }
  }

  #newConstraint(grammar: TextGrammar): CompiledConstraint {
    const states = new StateTable()
    return { id: ++this.#lastId, states, start: states.intern(grammar.start()) }
  }
}

function compile(constraint: Exclude<OutputConstraint, { type: 'grammar' }>): Pushdown {
  const network = compileNetwork(constraint)
  const order = network.callOrder()
  if (order !== null) return new Pushdown(network, order)
  if (constraint.type === 'gbnf') {
    throw unsupported('grammar', 'a rule can begin with itself (left recursion); use repetitions such as ("," item)*')
  }
  throw unsupported('#', 'a $ref refers back to itself without an object or an array in between')
}

function compileNetwork(constraint: Exclude<OutputConstraint, { type: 'grammar' }>): Network {
  switch (constraint.type) {
    case 'json-object':
      return anyJsonObject()
    case 'json-schema':
      return compileJsonSchema(constraint.schema)
    case 'gbnf':
      return compileGbnf(constraint.grammar)
    case 'regex': {
      const dfa = compileRegex(constraint.pattern, { path: 'pattern', match: 'whole' })
      if (dfa === null) throw unsupported('pattern', 'no string matches the pattern')
      return networkFromDfa(dfa)
    }
  }
}

/** Returns a network that accepts the same strings as the automaton. If it accepts the empty string, so does a jump. */
function networkFromDfa(dfa: Dfa): Network {
  const network = new Network()
  const { start, end } = network.rules[network.rule()] as NetworkRule
  network.terminal(start, new Terminal(dfa), end)
  if (dfa.accepts(0)) network.jump(start, end)
  return network
}
