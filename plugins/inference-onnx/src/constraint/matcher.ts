import { inferenceErrors } from '../errors.ts'
import { MaskWork } from './mask-work.ts'
import type { KnownState, StateTable } from './state-table.ts'
import type { TokenMask, TokenMasks } from './token-masks.ts'

/** Constraint that was compiled for one vocabulary. */
export interface CompiledConstraint {
  /** Identifies the constraint among others for the same vocabulary. */
  readonly id: number
  readonly states: StateTable
  readonly start: KnownState
}

export interface MatcherOptions {
  readonly constraint: CompiledConstraint
  readonly masks: TokenMasks
  /** Returns the bytes of a token. */
  bytes(token: number): Uint8Array
  /** End tokens, which are allowed if the text may end; empty if they are ignored. */
  readonly endTokens: ReadonlySet<number>
}

/** Tracks one sequence through a constraint. */
export class Matcher {
  readonly #options: MatcherOptions
  readonly #work = new MaskWork()
  #at: KnownState
  #mask: TokenMask | undefined
  /** Allowed tokens, including end tokens if the text may end; undefined until they are computed. */
  #allowed: Uint32Array | undefined

  constructor(options: MatcherOptions) {
    this.#options = options
    this.#at = options.constraint.start
  }

  /**
   * Returns one bit per token, from the lowest bit of the first word: set if the token may come next.
   * Throws `INF_CONSTRAINT_IMPASSE` if no token is allowed and the text may not end.
   */
  allowed(): Uint32Array {
    if (this.#allowed !== undefined) return this.#allowed
    const { bits, any } = this.#textTokens()
    const { accepting } = this.#at.state
    if (!any && !accepting) {
      throw inferenceErrors.create(
        'INF_CONSTRAINT_IMPASSE',
        'No token of the vocabulary satisfies the constraint, and the text may not end here',
        { hint: 'Loosen the constraint: the model has no tokens for it.' }
      )
    }
    const { endTokens } = this.#options
    this.#allowed = bits
    if (accepting && endTokens.size > 0) {
      this.#allowed = bits.slice()
      for (const token of endTokens) this.#allowed[token >> 5] = (this.#allowed[token >> 5] ?? 0) | (1 << (token & 31))
    }
    return this.#allowed
  }

  /** True if the text is complete and no token can follow. */
  isFinished(): boolean {
    return this.#at.state.accepting && !this.#textTokens().any
  }

  /** Advances by a token. Throws `INF_CONSTRAINT_IMPASSE` if the token is not allowed. */
  accept(token: number): void {
    const word = this.allowed()[token >> 5] ?? 0
    if ((word & (1 << (token & 31))) === 0) {
      throw inferenceErrors.create(
        'INF_CONSTRAINT_IMPASSE',
        `Token ${token} violates the constraint, and no allowed token can be chosen`,
        { data: { token }, hint: 'Check for a logit bias that bans every allowed token.' }
      )
    }
    if (this.#options.endTokens.has(token)) return
    for (const byte of this.#options.bytes(token)) this.#at = this.#at.next(byte) ?? this.#at
    this.#mask = undefined
    this.#allowed = undefined
  }

  #textTokens(): TokenMask {
    const { masks, constraint } = this.#options
    this.#mask ??= masks.of(this.#at, constraint.states, constraint.id, this.#work)
    return this.#mask
  }
}
