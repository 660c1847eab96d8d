import type { TextGrammarState } from '@svc/contracts'

/** Maximum states in the table; above it the table is cleared, which only costs time. */
const MAX_STATES = 2048

/** State of a grammar, with cached successors. */
export class KnownState {
  readonly state: TextGrammarState
  readonly #table: StateTable
  /** Successors by byte; null if there is none. */
  #next: (KnownState | null | undefined)[] | undefined
  /** Era of the table in which `#next` was created. */
  #era = -1

  constructor(state: TextGrammarState, table: StateTable) {
    this.state = state
    this.#table = table
  }

  /** True if the successor for a byte is cached. */
  knows(byte: number): boolean {
    return this.#era === this.#table.era && this.#next?.[byte] !== undefined
  }

  next(byte: number): KnownState | null {
    // A dropped state must not stay reachable through its predecessors.
    if (this.#next === undefined || this.#era !== this.#table.era) {
      this.#next = new Array(256)
      this.#era = this.#table.era
    }
    const known = this.#next[byte]
    if (known !== undefined) return known
    const state = this.state.advance(byte)
    const next = state === null ? null : this.#table.intern(state)
    // Interning the state may have cleared the table and started a new era.
    if (this.#era === this.#table.era) this.#next[byte] = next
    return next
  }
}

/** Interns states: states with equal keys become one object. */
export class StateTable {
  readonly #states = new Map<string, KnownState>()
  #era = 0

  /** Incremented whenever the table is cleared. */
  get era(): number {
    return this.#era
  }

  /** Returns the one object for the state's key. */
  intern(state: TextGrammarState): KnownState {
    let known = this.#states.get(state.key)
    if (known === undefined) {
      if (this.#states.size >= MAX_STATES) {
        this.#states.clear()
        this.#era++
      }
      known = new KnownState(state, this)
      this.#states.set(state.key, known)
    }
    return known
  }
}
