import type { TextGrammarState } from '@svc/contracts'

/** States that are kept to be found again; after more of them all are forgotten, which costs time and nothing else. */
const MAX_STATES = 2048

/** A state of a grammar that remembers what follows it. */
export class KnownState {
  readonly state: TextGrammarState
  readonly #table: StateTable
  /** By byte; null where nothing follows. */
  #next: (KnownState | null | undefined)[] | undefined
  /** When `#next` was begun. */
  #era = -1

  constructor(state: TextGrammarState, table: StateTable) {
    this.state = state
    this.#table = table
  }

  next(byte: number): KnownState | null {
    // A forgotten state must not stay reachable through its predecessors.
    if (this.#next === undefined || this.#era !== this.#table.era) {
      this.#next = new Array(256)
      this.#era = this.#table.era
    }
    const known = this.#next[byte]
    if (known !== undefined) return known
    const state = this.state.advance(byte)
    const next = state === null ? null : this.#table.know(state)
    // To know one more state may have begun a new era.
    if (this.#era === this.#table.era) this.#next[byte] = next
    return next
  }
}

/** Makes states with equal keys one object. */
export class StateTable {
  readonly #states = new Map<string, KnownState>()
  #era = 0

  /** Goes up whenever all states are forgotten. */
  get era(): number {
    return this.#era
  }

  know(state: TextGrammarState): KnownState {
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
