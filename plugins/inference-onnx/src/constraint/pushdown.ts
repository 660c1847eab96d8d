import type { TextGrammar, TextGrammarState } from '@svc/contracts'
import type { Network, NetworkNode, NetworkRule, Terminal } from './network.ts'
import { unsupported } from './unsupported.ts'

/** Maximum frames in the cache; above it the cache is cleared, which only costs time. */
const MAX_FRAMES = 10_000
/** Maximum ways to continue at one point: each costs time at each byte. */
const MAX_THREADS = 2_000

/**
 * Stack frame of an active rule: positions to return to when it ends. Frames with equal positions are the same object.
 */
interface Frame {
  readonly id: number
  readonly returns: readonly GrammarPosition[]
}

interface GrammarPosition {
  readonly node: number
  readonly frame: Frame
}

/** One way to read the next bytes: an active terminal, and the position after it. */
export interface Thread extends GrammarPosition {
  readonly terminal: Terminal
  /** State of the terminal's automaton. */
  readonly state: number
  /** Number of characters started so far in a counted string. */
  readonly count: number
}

/**
 * Nondeterministic pushdown automaton that reads the language of a network. Follows all alternatives in parallel. A
 * rule that several rules call at the same byte is read once for all of them, which keeps the number of threads small.
 */
export class Pushdown implements TextGrammar {
  readonly network: Network
  /** Position of each rule in the call order. */
  readonly rank: readonly number[]
  /** Nodes at which rules end. */
  readonly ends: ReadonlySet<number>
  /** Nodes from which only the end of the rule can be reached, without input. */
  readonly #tails: ReadonlySet<number>
  readonly #root: Frame = { id: 0, returns: [] }
  readonly #frames = new Map<string, Frame>()
  #lastFrame = 0

  /** `order`: the result of {@link Network.callOrder}. */
  constructor(network: Network, order: readonly number[]) {
    this.network = network
    this.ends = new Set(network.rules.map(({ end }) => end))
    this.#tails = tailsOf(network)
    const rank: number[] = []
    for (const [position, rule] of order.entries()) rank[rule] = position
    this.rank = rank
  }

  start(): PushdownState {
    const { start } = this.network.rules[0] as NetworkRule
    return this.at([{ node: start, frame: this.#root }])
  }

  /** Returns the state at positions between two terminals. */
  at(positions: readonly GrammarPosition[]): PushdownState {
    return new Step(this).enter(positions).finish()
  }

  /**
   * Returns the positions after a call that continues at `node`. If nothing is left to read in the calling rule, they are
   * those after that rule: otherwise the stack would grow with each element of a right-recursive list.
   */
  returnsOf(node: number, frame: Frame): readonly GrammarPosition[] {
    if (!this.#tails.has(node)) return [{ node, frame }]
    const { end } = this.network.rules[0] as NetworkRule
    return frame === this.#root ? [{ node: end, frame }] : frame.returns
  }

  frame(returns: readonly GrammarPosition[]): Frame {
    const key = returns.map(({ node, frame }) => `${node}.${frame.id}`).join()
    let frame = this.#frames.get(key)
    if (frame === undefined) {
      if (this.#frames.size >= MAX_FRAMES) this.#frames.clear()
      frame = { id: ++this.#lastFrame, returns }
      this.#frames.set(key, frame)
    }
    return frame
  }
}

export class PushdownState implements TextGrammarState {
  readonly key: string
  readonly accepting: boolean
  readonly threads: readonly Thread[]
  readonly #pushdown: Pushdown

  constructor(pushdown: Pushdown, threads: ReadonlyMap<string, Thread>, accepting: boolean) {
    this.#pushdown = pushdown
    this.key = `${accepting ? '!' : ''}${[...threads.keys()].sort().join('|')}`
    this.accepting = accepting
    this.threads = [...threads.values()]
  }

  advance(byte: number): PushdownState | null {
    const step = new Step(this.#pushdown)
    const ended: GrammarPosition[] = []
    for (const thread of this.threads) {
      const { terminal, state } = thread
      const { dfa } = terminal
      const next = dfa.next(state, byte)
      if (next < 0) continue
      const ends = dfa.accepts(next)
      let { count } = thread
      if (state === terminal.between) {
        if (ends ? count < terminal.minLength : count >= terminal.maxLength) continue
        // Without an upper bound, counts above the lower one are equivalent.
        count = terminal.maxLength === Number.POSITIVE_INFINITY ? Math.min(count + 1, terminal.minLength) : count + 1
      }
      if (ends) ended.push(thread)
      if (dfa.isOpen(next)) step.add({ ...thread, state: next, count })
    }
    const after = step.enter(ended).finish()
    return after.threads.length > 0 || after.accepting ? after : null
  }

  /** Returns the state after the terminal of a thread has ended. */
  after({ node, frame }: Thread): PushdownState {
    return this.#pushdown.at([{ node, frame }])
  }
}

/** Collects the threads of one state. */
class Step {
  readonly #pushdown: Pushdown
  readonly #threads = new Map<string, Thread>()
  #accepting = false

  constructor(pushdown: Pushdown) {
    this.#pushdown = pushdown
  }

  add(thread: Thread): void {
    const { terminal, state, count, node, frame } = thread
    this.#threads.set(`${terminal.key},${state},${count},${node},${frame.id}`, thread)
    if (this.#threads.size <= MAX_THREADS) return
    throw unsupported('#', `it is too ambiguous: a text can be continued in more than ${MAX_THREADS} ways`)
  }

  finish(): PushdownState {
    return new PushdownState(this.#pushdown, this.#threads, this.#accepting)
  }

  /** Adds all terminals that can be read next from these positions, through rules that start or end there. */
  enter(positions: readonly GrammarPosition[]): this {
    const { network, rank } = this.#pushdown
    const calls = new Map<number, Map<string, GrammarPosition>>()
    this.#visit(positions, calls, true)
    while (calls.size > 0) {
      // Later rules never call earlier ones at their start, so all callers of this one are known.
      const rule = [...calls.keys()].reduce((a, b) => ((rank[a] as number) < (rank[b] as number) ? a : b))
      const callers = [...(calls.get(rule) as Map<string, GrammarPosition>).entries()].sort(([a], [b]) =>
        a < b ? -1 : 1
      )
      calls.delete(rule)
      const frame = this.#pushdown.frame(callers.map(([, position]) => position))
      this.#visit([{ node: (network.rules[rule] as NetworkRule).start, frame }], calls, false)
    }
    return this
  }

  /** `mayEnd`: whether rules may end here. A rule that was just called may not: callers have an edge past an empty rule. */
  #visit(
    positions: readonly GrammarPosition[],
    calls: Map<number, Map<string, GrammarPosition>>,
    mayEnd: boolean
  ): void {
    const { network, ends } = this.#pushdown
    const seen = new Set<string>()
    const open = [...positions]
    for (let position = open.pop(); position !== undefined; position = open.pop()) {
      const { node, frame } = position
      const key = `${node}.${frame.id}`
      if (seen.has(key)) continue
      seen.add(key)
      const { jumps, terminals, calls: called } = network.nodes[node] as NetworkNode
      for (const to of jumps) open.push({ node: to, frame })
      for (const { terminal, to } of terminals) this.add({ terminal, state: 0, count: 0, node: to, frame })
      for (const { rule, to } of called) {
        const callers = calls.get(rule) ?? new Map<string, GrammarPosition>()
        for (const position of this.#pushdown.returnsOf(to, frame)) {
          callers.set(`${position.node}.${position.frame.id}`, position)
        }
        calls.set(rule, callers)
      }
      if (!mayEnd || !ends.has(node)) continue
      if (frame.returns.length === 0) this.#accepting = true
      else open.push(...frame.returns)
    }
  }
}

function tailsOf({ nodes, rules }: Network): ReadonlySet<number> {
  const sources: number[][] = nodes.map(() => [])
  for (const [from, { jumps }] of nodes.entries()) for (const to of jumps) sources[to]?.push(from)
  const tails = new Set(rules.map(({ end }) => end))
  // The loop also visits nodes that are added while it runs.
  for (const tail of tails) {
    for (const from of sources[tail] ?? []) {
      const { jumps, terminals, calls } = nodes[from] as NetworkNode
      if (terminals.length === 0 && calls.length === 0 && jumps.every(to => tails.has(to))) tails.add(from)
    }
  }
  return tails
}
