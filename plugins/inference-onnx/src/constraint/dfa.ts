import { spendSteps } from './compile-limits.ts'

/** Limits the memory of an automaton, and the time of its construction to some tenths of a second. */
const MAX_STATES = 20_000

/** Thrown if an automaton exceeds its limit. The caller reports it, because it knows the constraint. */
export class AutomatonTooLarge extends Error {}

/** Input of {@link exploreDfa}: states of any type, identified by their keys. */
export interface Exploration<State> {
  readonly start: State
  key(state: State): string
  /** True if the string may end in this state. */
  accepts(state: State): boolean
  /** Returns the transitions by byte range; ranges of one state do not overlap. */
  edges(state: State): Iterable<readonly [low: number, high: number, next: State]>
}

/** Transition table, which can be sent between threads. */
export interface DfaTables {
  readonly states: number
  /** Class of each byte: bytes of one class have the same transitions. */
  readonly classOf: Uint8Array
  readonly classes: number
  /** `[states, classes]`: the next state; -1 for none. */
  readonly next: Int32Array
  /** `[states]`: 1 if the string may end. */
  readonly accepting: Uint8Array
  /** `[states]`: 1 if any byte can follow. */
  readonly open: Uint8Array
}

let lastId = 0

/**
 * Deterministic automaton over bytes. States are numbers; 0 is the start.
 *
 * An accepting state is reachable from every state, so every prefix can be completed.
 */
export class Dfa {
  /** Identifies the automaton in cache keys. */
  readonly id = ++lastId
  readonly states: number
  readonly tables: DfaTables
  readonly #classOf: Uint8Array
  readonly #classes: number
  readonly #next: Int32Array
  readonly #accepting: Uint8Array
  readonly #open: Uint8Array

  constructor(tables: DfaTables) {
    this.tables = tables
    this.states = tables.states
    this.#classOf = tables.classOf
    this.#classes = tables.classes
    this.#next = tables.next
    this.#accepting = tables.accepting
    this.#open = tables.open
  }

  /** Returns the state after one more byte, or -1. */
  next(state: number, byte: number): number {
    return this.#next[state * this.#classes + (this.#classOf[byte] as number)] as number
  }

  accepts(state: number): boolean {
    return this.#accepting[state] === 1
  }

  /** True if any byte can follow. */
  isOpen(state: number): boolean {
    return this.#open[state] === 1
  }

  matches(text: string): boolean {
    let state = 0
    for (const byte of Buffer.from(text)) {
      state = this.next(state, byte)
      if (state < 0) return false
    }
    return this.accepts(state)
  }
}

/** Returns tables. `rows`: for each state, the next state for each of 256 bytes; -1 for none. */
function tablesOf(rows: readonly Int32Array[], accepting: readonly boolean[]): DfaTables {
  const classOf = new Uint8Array(256)
  const classes = classifyBytes(rows, classOf)
  const next = new Int32Array(rows.length * classes).fill(-1)
  for (const [state, row] of rows.entries()) {
    spendSteps(20)
    for (let byte = 0; byte < 256; byte++) next[state * classes + (classOf[byte] as number)] = row[byte] as number
  }
  const open = Uint8Array.from(rows, row => (row.some(next => next >= 0) ? 1 : 0))
  return { states: rows.length, classOf, classes, next, accepting: Uint8Array.from(accepting, Number), open }
}

/** Groups bytes that have the same transitions in all states into classes. Returns the number of classes. */
function classifyBytes(rows: readonly Int32Array[], classOf: Uint8Array): number {
  let classes = 1
  for (const row of rows) {
    // A map of 256 bytes.
    spendSteps(200)
    const refined = new Map<number, number>()
    for (let byte = 0; byte < 256; byte++) {
      const signature = (classOf[byte] as number) * (rows.length + 1) + (row[byte] as number) + 1
      let index = refined.get(signature)
      if (index === undefined) refined.set(signature, (index = refined.size))
      classOf[byte] = index
    }
    classes = refined.size
    if (classes === 256) break
  }
  return classes
}

/** Builds an automaton of all reachable states; null if it accepts nothing. Throws {@link AutomatonTooLarge}. */
export function exploreDfa<State>(exploration: Exploration<State>): Dfa | null {
  const indices = new Map<string, number>()
  const states: State[] = []
  const index = (state: State): number => {
    const key = exploration.key(state)
    let found = indices.get(key)
    if (found === undefined) {
      found = states.push(state) - 1
      indices.set(key, found)
    }
    return found
  }
  index(exploration.start)
  const rows: Int32Array[] = []
  for (let i = 0; i < states.length; i++) {
    if (states.length > MAX_STATES) throw new AutomatonTooLarge(`it needs more than ${MAX_STATES} states`)
    spendSteps(20)
    const row = new Int32Array(256).fill(-1)
    for (const [low, high, next] of exploration.edges(states[i] as State)) {
      spendSteps(20)
      row.fill(index(next), low, high + 1)
    }
    rows.push(row)
  }
  return trim(
    rows,
    states.map(state => exploration.accepts(state))
  )
}

/** Drops states from which no accepting state can be reached. */
function trim(rows: readonly Int32Array[], accepting: readonly boolean[]): Dfa | null {
  const sources: number[][] = rows.map(() => [])
  for (const [state, row] of rows.entries()) {
    spendSteps(100)
    for (const next of new Set(row)) sources[next]?.push(state)
  }
  const alive = [...accepting]
  const found = [...accepting.keys()].filter(state => accepting[state])
  for (let state = found.pop(); state !== undefined; state = found.pop()) {
    for (const source of sources[state] ?? []) {
      if (alive[source]) continue
      alive[source] = true
      found.push(source)
    }
  }
  if (!alive[0]) return null
  let count = 0
  const renamed = alive.map(kept => (kept ? count++ : -1))
  const rename = (next: number) => (next < 0 ? -1 : (renamed[next] as number))
  const kept = rows.filter((_, state) => alive[state])
  const renamedRows = kept.map(row => {
    spendSteps(20)
    return row.map(rename)
  })
  return new Dfa(
    tablesOf(
      renamedRows,
      accepting.filter((_, state) => alive[state])
    )
  )
}

/** Returns the intersection (`both`) or the difference (`without`). Throws {@link AutomatonTooLarge}. */
export function combine(a: Dfa, b: Dfa, how: 'both' | 'without'): Dfa | null {
  type Pair = readonly [number, number]
  return exploreDfa<Pair>({
    start: [0, 0],
    key: pair => pair.join(),
    accepts: ([left, right]) => a.accepts(left) && (right >= 0 && b.accepts(right)) === (how === 'both'),
    *edges([left, right]) {
      for (let byte = 0; byte < 256; byte++) {
        const next = a.next(left, byte)
        const other = right < 0 ? -1 : b.next(right, byte)
        if (next >= 0 && (other >= 0 || how === 'without')) yield [byte, byte, [next, other]]
      }
    }
  })
}
