import type { TextGrammarState } from '@svc/contracts'

/** States that are kept to be found again; more of them are forgotten, which costs time and nothing else. */
const MAX_STATES = 4096

/** A state of a grammar that remembers what follows it. */
export class KnownState {
  readonly state: TextGrammarState
  readonly #table: StateTable
  /** By byte; null where nothing follows. */
  readonly #next: (KnownState | null | undefined)[] = new Array(256)

  constructor(state: TextGrammarState, table: StateTable) {
    this.state = state
    this.#table = table
  }

  next(byte: number): KnownState | null {
    const known = this.#next[byte]
    if (known !== undefined) return known
    const state = this.state.advance(byte)
    const next = state === null ? null : this.#table.know(state)
    this.#next[byte] = next
    return next
  }
}

/** Makes states with equal keys one object. */
export class StateTable {
  readonly #states = new Map<string, KnownState>()

  know(state: TextGrammarState): KnownState {
    let known = this.#states.get(state.key)
    if (known === undefined) {
      if (this.#states.size >= MAX_STATES) this.#states.clear()
      known = new KnownState(state, this)
      this.#states.set(state.key, known)
    }
    return known
  }
}
