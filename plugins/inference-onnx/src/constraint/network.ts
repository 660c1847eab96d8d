import { spendSteps } from './compile-limits.ts'
import type { Dfa } from './dfa.ts'
import { betweenCharacters } from './json-text.ts'

/** Limits of the memory of one constraint: nodes, and states of its automata. */
const MAX_NODES = 100_000
const MAX_STATES = 60_000

/** Thrown if a network exceeds its limits. */
export class NetworkTooLarge extends Error {}

/** Terminal of the grammar: a string that an automaton accepts. */
export class Terminal {
  readonly dfa: Dfa
  /** Minimum number of characters between the quotes of a JSON string. */
  readonly minLength: number
  readonly maxLength: number
  /** State of the automaton between two characters; -1 if characters are not counted. */
  readonly between: number
  readonly key: string

  constructor(dfa: Dfa, length?: { readonly min: number; readonly max: number }) {
    this.dfa = dfa
    this.minLength = length?.min ?? 0
    this.maxLength = length?.max ?? Number.POSITIVE_INFINITY
    this.between = length === undefined ? -1 : betweenCharacters()
    this.key = `${dfa.id}:${this.minLength}:${this.maxLength}`
  }
}

/** Node of a rule's automaton. */
export interface NetworkNode {
  /** Nodes reachable without input. */
  readonly jumps: number[]
  readonly terminals: { readonly terminal: Terminal; readonly to: number }[]
  /** Rules that are read from here; `to`: node after the rule. */
  readonly calls: { readonly rule: number; readonly to: number }[]
}

export interface NetworkRule {
  readonly start: number
  readonly end: number
}

/**
 * Recursive transition network: describes a context-free language by rules. Each rule is a nondeterministic automaton
 * over terminals and calls of rules.
 *
 * Every rule except the first reads at least one byte: edges of calls do not stand for an empty text. For a rule that may
 * be empty each call has a parallel jump.
 */
export class Network {
  readonly nodes: NetworkNode[] = []
  readonly rules: NetworkRule[] = []
  readonly #automata = new Set<Dfa>()
  #size = 0

  /** Number of nodes, plus states of the terminals' automata. */
  get size(): number {
    return this.nodes.length + this.#size
  }

  node(): number {
    spendSteps(4)
    if (this.nodes.length >= MAX_NODES) throw new NetworkTooLarge(`it needs more than ${MAX_NODES} nodes`)
    return this.nodes.push({ jumps: [], terminals: [], calls: [] }) - 1
  }

  /** Adds an empty rule; returns its id. */
  rule(): number {
    return this.rules.push({ start: this.node(), end: this.node() }) - 1
  }

  jump(from: number, to: number): void {
    spendSteps(2)
    this.nodes[from]?.jumps.push(to)
  }

  terminal(from: number, terminal: Terminal, to: number): void {
    spendSteps(2)
    this.nodes[from]?.terminals.push({ terminal, to })
    if (this.#automata.has(terminal.dfa)) return
    this.#automata.add(terminal.dfa)
    this.#size += terminal.dfa.states
    if (this.#size > MAX_STATES) throw new NetworkTooLarge(`its automata need more than ${MAX_STATES} states`)
  }

  call(from: number, rule: number, to: number): void {
    spendSteps(4)
    this.nodes[from]?.calls.push({ rule, to })
  }

  /**
   * Removes edges from which the end cannot be reached, such as an object that must contain itself. Then every prefix
   * can be completed. Returns true if the network still accepts any string.
   */
  prune(): boolean {
    const alive = this.#finishable()
    const kept = ({ to }: { readonly to: number }) => alive.has(to)
    for (const [node, { jumps, terminals, calls }] of this.nodes.entries()) {
      spendSteps(4)
      const callable = calls.filter(call => kept(call) && alive.has(this.rules[call.rule]?.start ?? -1))
      this.nodes[node] = {
        jumps: jumps.filter(to => alive.has(to)),
        terminals: terminals.filter(kept),
        calls: callable
      }
    }
    return alive.has(this.rules[0]?.start ?? -1)
  }

  /** Returns the nodes from which the end of their rule can be reached. */
  #finishable(): Set<number> {
    const sources: number[][] = this.nodes.map(() => [])
    const callsTo: { from: number; rule: number }[][] = this.nodes.map(() => [])
    const callers: { from: number; to: number }[][] = this.rules.map(() => [])
    for (const [from, node] of this.nodes.entries()) {
      for (const to of node.jumps) sources[to]?.push(from)
      for (const { to } of node.terminals) sources[to]?.push(from)
      for (const { rule, to } of node.calls) {
        callers[rule]?.push({ from, to })
        callsTo[to]?.push({ from, rule })
      }
    }
    const ruleOf = new Map(this.rules.map(({ start }, rule) => [start, rule]))
    const alive = new Set(this.rules.map(({ end }) => end))
    // The loop also visits nodes that are added while it runs.
    for (const node of alive) {
      for (const from of sources[node] ?? []) alive.add(from)
      for (const { from, rule } of callsTo[node] ?? []) if (alive.has(this.rules[rule]?.start ?? -1)) alive.add(from)
      const rule = ruleOf.get(node)
      if (rule === undefined) continue
      for (const { from, to } of callers[rule] ?? []) if (alive.has(to)) alive.add(from)
    }
    return alive
  }

  /**
   * Returns the rules in an order in which callers precede the rules that they call at their start. Null if a rule
   * calls itself before reading anything (left recursion).
   */
  callOrder(): readonly number[] | null {
    const called = this.rules.map(({ start }) => this.#calledAtStart(start))
    const callers = this.rules.map(() => 0)
    for (const rule of called.flatMap(rules => [...rules])) callers[rule] = (callers[rule] ?? 0) + 1
    const order = this.rules.flatMap((_, rule) => (callers[rule] === 0 ? [rule] : []))
    // The loop also visits rules that are added while it runs.
    for (const rule of order) {
      for (const next of called[rule] ?? []) {
        callers[next] = (callers[next] ?? 0) - 1
        if (callers[next] === 0) order.push(next)
      }
    }
    return order.length === this.rules.length ? order : null
  }

  #calledAtStart(start: number): Set<number> {
    const rules = new Set<number>()
    const nodes = new Set([start])
    for (const node of nodes) {
      spendSteps(2)
      for (const to of this.nodes[node]?.jumps ?? []) nodes.add(to)
      for (const { rule } of this.nodes[node]?.calls ?? []) rules.add(rule)
    }
    return rules
  }
}
