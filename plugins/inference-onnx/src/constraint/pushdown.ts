import type { TextGrammar, TextGrammarState } from '@svc/contracts'
import type { FlatNetwork } from './flat-network.ts'
import type { Terminal } from './network.ts'
import { unsupported } from './unsupported.ts'

/** Maximum frames in the cache; above it the cache is cleared, which only costs time. */
const MAX_FRAMES = 10_000
/** Maximum ways to continue at one point: each costs time at each byte. */
const MAX_THREADS = 2_000
/** Maximum work for one state: about 50 ms. */
const MAX_WORK = 50_000

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
  readonly network: FlatNetwork
  readonly #root: Frame = { id: 0, returns: [] }
  readonly #frames = new Map<string, Frame>()
  #lastFrame = 0

  constructor(network: FlatNetwork) {
    this.network = network
  }

  start(): PushdownState {
    return this.at([{ node: this.network.rule(0).start, frame: this.#root }])
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
    if (!this.network.isTail(node)) return [{ node, frame }]
    return frame === this.#root ? [{ node: this.network.rule(0).end, frame }] : frame.returns
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
  /** Positions that were visited to find the threads: each costs about as much time as a thread. */
  readonly work: number
  readonly #pushdown: Pushdown

  constructor(pushdown: Pushdown, threads: ReadonlyMap<string, Thread>, accepting: boolean, work: number) {
    this.#pushdown = pushdown
    this.work = work
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
  #work = 0

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
    return new PushdownState(this.#pushdown, this.#threads, this.#accepting, this.#work)
  }

  #spend(work: number): void {
    this.#work += work
    if (this.#work > MAX_WORK) throw unsupported('#', 'it is too ambiguous: too many rules can begin at one place')
  }

  /** Adds all terminals that can be read next from these positions, through rules that start or end there. */
  enter(positions: readonly GrammarPosition[]): this {
    const { network } = this.#pushdown
    const { rank } = network
    const calls = new Map<number, Map<string, GrammarPosition>>()
    this.#visit(positions, calls, true)
    while (calls.size > 0) {
      // Later rules never call earlier ones at their start, so all callers of this one are known.
      const rule = [...calls.keys()].reduce((a, b) => ((rank[a] as number) < (rank[b] as number) ? a : b))
      const callers = [...(calls.get(rule) as Map<string, GrammarPosition>).entries()].sort(([a], [b]) =>
        a < b ? -1 : 1
      )
      // The search for the rule is quicker than a visit.
      this.#spend(callers.length + Math.ceil(calls.size / 20))
      calls.delete(rule)
      const frame = this.#pushdown.frame(callers.map(([, position]) => position))
      this.#visit([{ node: network.rule(rule).start, frame }], calls, false)
    }
    return this
  }

  /** `mayEnd`: whether rules may end here. A rule that was just called may not: callers have an edge past an empty rule. */
  #visit(
    positions: readonly GrammarPosition[],
    calls: Map<number, Map<string, GrammarPosition>>,
    mayEnd: boolean
  ): void {
    const { network } = this.#pushdown
    const seen = new Set<string>()
    const open = [...positions]
    for (let position = open.pop(); position !== undefined; position = open.pop()) {
      const { node, frame } = position
      const key = `${node}.${frame.id}`
      if (seen.has(key)) continue
      seen.add(key)
      const { jumps, terminals, calls: called } = network.node(node)
      this.#spend(1 + called.length)
      for (const to of jumps) open.push({ node: to, frame })
      for (const { terminal, to } of terminals) this.add({ terminal, state: 0, count: 0, node: to, frame })
      for (const { rule, to } of called) {
        const callers = calls.get(rule) ?? new Map<string, GrammarPosition>()
        addAll(callers, this.#pushdown.returnsOf(to, frame))
        calls.set(rule, callers)
      }
      if (!mayEnd || !network.isEnd(node)) continue
      if (frame.returns.length === 0) this.#accepting = true
      else open.push(...frame.returns)
    }
  }
}

function addAll(callers: Map<string, GrammarPosition>, positions: Iterable<GrammarPosition>): void {
  for (const position of positions) callers.set(`${position.node}.${position.frame.id}`, position)
}
