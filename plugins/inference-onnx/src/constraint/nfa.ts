import { spendSteps } from './compile-limits.ts'
import { AutomatonTooLarge, type Dfa, exploreDfa } from './dfa.ts'
import type { ByteEdge, ByteGraph } from './utf8.ts'

/** Maximum states of one automaton before determinisation. */
const MAX_STATES = 60_000
/** Maximum state visits during determinisation, which limits the time. */
const MAX_VISITS = 4_000_000

/** Part of an automaton: its start and end state. */
export interface Fragment {
  readonly from: number
  readonly to: number
}

/** Builds a nondeterministic automaton over bytes by Thompson's construction. */
export class NfaBuilder {
  readonly #edges: ByteEdge[][] = []
  readonly #jumps: number[][] = []
  #visits = 0

  empty(): Fragment {
    const state = this.#state()
    return { from: state, to: state }
  }

  text(text: string): Fragment {
    const bytes = Buffer.from(text)
    if (bytes.length === 0) return this.empty()
    return this.bytes(
      Array.from(bytes, (byte, i) => [{ low: byte, high: byte, to: i + 1 < bytes.length ? i + 1 : -1 }])
    )
  }

  /** Returns a fragment that matches any path of a graph. An empty graph matches nothing. */
  bytes(graph: ByteGraph): Fragment {
    const states = graph.map(() => this.#state())
    const to = this.#state()
    for (const [node, edges] of graph.entries()) {
      const from = this.#edges[states[node] as number]
      for (const edge of edges) from?.push({ ...edge, to: edge.to < 0 ? to : (states[edge.to] as number) })
    }
    return { from: states[0] as number, to }
  }

  sequence(parts: readonly Fragment[]): Fragment {
    const [first, ...rest] = parts
    if (first === undefined) return this.empty()
    let to = first.to
    for (const part of rest) {
      this.#jump(to, part.from)
      to = part.to
    }
    return { from: first.from, to }
  }

  choice(parts: readonly Fragment[]): Fragment {
    const from = this.#state()
    const to = this.#state()
    for (const part of parts) {
      this.#jump(from, part.from)
      this.#jump(part.to, to)
    }
    return { from, to }
  }

  /** Repeats a part. `part`: builds another copy of it. */
  repeat(part: () => Fragment, min: number, max: number): Fragment {
    const copies = Array.from({ length: Math.min(min, MAX_STATES) }, part)
    if (max === Number.POSITIVE_INFINITY) {
      const loop = part()
      const from = this.#state()
      this.#jump(from, loop.from)
      this.#jump(loop.to, from)
      return this.sequence([...copies, { from, to: from }])
    }
    const to = this.#state()
    const optional: Fragment[] = []
    for (let i = min; i < max; i++) {
      // Needs a separate start state, because a state inside the copy could be reached again.
      const from = this.#state()
      const copy = part()
      this.#jump(from, copy.from)
      this.#jump(from, to)
      optional.push({ from, to: copy.to })
    }
    return this.sequence([...copies, ...optional, { from: to, to }])
  }

  /** Determinises the automaton; null if nothing matches. Throws {@link AutomatonTooLarge}. */
  build({ from, to }: Fragment): Dfa | null {
    return exploreDfa<readonly number[]>({
      start: this.#closure([from], to),
      key: set => set.join(),
      accepts: set => set.includes(to),
      edges: set => this.#follow(set, to)
    })
  }

  #state(): number {
    spendSteps(1)
    if (this.#edges.length >= MAX_STATES) throw new AutomatonTooLarge(`it needs more than ${MAX_STATES} states`)
    this.#jumps.push([])
    return this.#edges.push([]) - 1
  }

  #jump(from: number, to: number): void {
    this.#jumps[from]?.push(to)
  }

  /** Returns the epsilon closure of a set, reduced to the states that identify it: those with edges, and the end. */
  #closure(states: Iterable<number>, end: number): readonly number[] {
    const seen = new Set(states)
    for (const state of seen) for (const next of this.#jumps[state] ?? []) seen.add(next)
    spendSteps(seen.size)
    this.#visits += seen.size
    if (this.#visits > MAX_VISITS)
      throw new AutomatonTooLarge(`it is too ambiguous: making it deterministic visits more than ${MAX_VISITS} states`)
    return [...seen].filter(state => state === end || this.#edges[state]?.length !== 0).sort((a, b) => a - b)
  }

  *#follow(set: readonly number[], end: number): Generator<readonly [number, number, readonly number[]]> {
    const edges = set.flatMap(state => this.#edges[state] ?? [])
    const cuts = [...new Set(edges.flatMap(({ low, high }) => [low, high + 1]))].sort((a, b) => a - b)
    for (const [i, low] of cuts.slice(0, -1).entries()) {
      const high = (cuts[i + 1] as number) - 1
      spendSteps(Math.ceil(edges.length / 4))
      const targets = edges.filter(edge => edge.low <= low && high <= edge.high).map(edge => edge.to)
      if (targets.length > 0) yield [low, high, this.#closure(targets, end)]
    }
  }
}
