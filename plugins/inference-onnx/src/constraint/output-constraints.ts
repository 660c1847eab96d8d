import { createHash } from 'node:crypto'
import type { OutputConstraint, TextGrammar } from '@svc/contracts'
import { type CompilableConstraint, compileConstraint } from './compile-constraint.ts'
import { CompileLimitExceeded, withLimits } from './compile-limits.ts'
import { ConstraintThreads } from './constraint-threads.ts'
import { FlatNetwork, type NetworkTables } from './flat-network.ts'
import { type CompiledConstraint, Matcher } from './matcher.ts'
import { Pushdown } from './pushdown.ts'
import { StateTable } from './state-table.ts'
import { TokenMasks } from './token-masks.ts'
import { buildTokenTrie } from './token-trie.ts'

/** Limits of the cache of compiled schemas and patterns: their number, and their total nodes and states. */
const MAX_CACHED = 64
const MAX_CACHED_SIZE = 200_000
/** Steps of a compilation on the event loop, about 20 ms; a longer one is repeated in a thread. */
const QUICK_STEPS = 400_000

export interface ConstraintVocabulary {
  /** Number of token ids. */
  readonly size: number
  /** Returns the bytes of a token. */
  bytes(token: number): Uint8Array
  isSpecial(token: number): boolean
  readonly endTokens: ReadonlySet<number>
}

interface CachedConstraint {
  readonly compiled: CompiledConstraint
  readonly size: number
}

/** Compiles output constraints for the vocabulary of one model. */
export class OutputConstraints {
  readonly #vocabulary: ConstraintVocabulary
  readonly #cache = new Map<string, CachedConstraint>()
  readonly #compiling = new Map<string, Promise<CachedConstraint>>()
  readonly #threads = new ConstraintThreads()
  readonly #grammars = new WeakMap<TextGrammar, CompiledConstraint>()
  #masks: Promise<TokenMasks> | undefined
  #lastId = 0

  constructor(vocabulary: ConstraintVocabulary) {
    this.#vocabulary = vocabulary
  }

  /**
   * Creates a matcher for one sequence. Throws `INF_CONSTRAINT_UNSUPPORTED`, naming the feature and its location.
   */
  async matcher(
    constraint: OutputConstraint,
    options: { readonly ignoreEnd: boolean; readonly client?: string | undefined }
  ): Promise<Matcher> {
    const compiled =
      constraint.type === 'grammar'
        ? this.#grammar(constraint.grammar)
        : await this.#cachedConstraint(constraint, options.client)
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

  /** Ends compilations that run. */
  async close(): Promise<void> {
    await this.#threads.close()
  }

  async #cachedConstraint(constraint: CompilableConstraint, client?: string): Promise<CompiledConstraint> {
    const key = createHash('sha256').update(JSON.stringify(constraint)).digest('base64')
    const cached = this.#cache.get(key) ?? (await this.#compileOnce(key, constraint, client))
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

  /** Concurrent requests with the same constraint share one compilation. */
  #compileOnce(key: string, constraint: CompilableConstraint, client: string | undefined): Promise<CachedConstraint> {
    let running = this.#compiling.get(key)
    if (running === undefined) {
      running = this.#compile(constraint, client).finally(() => this.#compiling.delete(key))
      this.#compiling.set(key, running)
    }
    return running
  }

  /** Compiles a constraint here if that is quick, else in a thread. */
  async #compile(constraint: CompilableConstraint, client: string | undefined): Promise<CachedConstraint> {
    const network = new FlatNetwork(quickly(constraint) ?? (await this.#threads.compile(constraint, client)))
    return { compiled: this.#newConstraint(new Pushdown(network)), size: network.size }
  }

  #newConstraint(grammar: TextGrammar): CompiledConstraint {
    const states = new StateTable()
    return { id: ++this.#lastId, states, start: states.intern(grammar.start()) }
  }
}

function quickly(constraint: CompilableConstraint): NetworkTables | null {
  try {
    return withLimits({ steps: QUICK_STEPS }, () => compileConstraint(constraint))
  } catch (error) {
    if (error instanceof CompileLimitExceeded) return null
    throw error
  }
}
