import { Dfa, type DfaTables } from './dfa.ts'
import { type Network, type NetworkNode, type NetworkRule, Terminal } from './network.ts'

/** Network in arrays, which can be sent between threads. */
export interface NetworkTables {
  readonly dfas: readonly DfaTables[]
  /** Four numbers for each terminal: index of its automaton, 1 if characters are counted, minimum and maximum length. */
  readonly terminals: Float64Array
  /** Index of the first number of each node in `edges`. */
  readonly firstEdge: Int32Array
  /**
   * For each node: number of jumps and their targets, number of terminals and pairs of a terminal and a target, number of
   * calls and pairs of a rule and a target.
   */
  readonly edges: Int32Array
  /** Start and end node of each rule. */
  readonly rules: Int32Array
  /** Position of each rule in the call order. */
  readonly rank: Int32Array
  /** 1 for nodes from which only the end of the rule can be reached, without input. */
  readonly tails: Uint8Array
  /** Number of nodes and of states of the automata. */
  readonly size: number
}

/** Returns the tables of a network. `order`: the result of {@link Network.callOrder}. */
export function tablesOf(network: Network, order: readonly number[]): NetworkTables {
  const dfas = new Map<Dfa, number>()
  const terminals = new Map<Terminal, number>()
  const indexOf = <T>(map: Map<T, number>, item: T): number => {
    const index = map.get(item) ?? map.size
    map.set(item, index)
    return index
  }
  const edges: number[] = []
  const firstEdge = Int32Array.from(network.nodes, node => {
    const first = edges.length
    edges.push(node.jumps.length)
    for (const to of node.jumps) edges.push(to)
    edges.push(node.terminals.length)
    for (const { terminal, to } of node.terminals) edges.push(indexOf(terminals, terminal), to)
    edges.push(node.calls.length)
    for (const { rule, to } of node.calls) edges.push(rule, to)
    return first
  })
  const rank = new Int32Array(network.rules.length)
  for (const [position, rule] of order.entries()) rank[rule] = position
  const flatTerminals = Float64Array.from(
    [...terminals.keys()].flatMap(({ dfa, between, minLength, maxLength }) => {
      return [indexOf(dfas, dfa), between < 0 ? 0 : 1, minLength, maxLength]
    })
  )
  return {
    dfas: [...dfas.keys()].map(dfa => dfa.tables),
    terminals: flatTerminals,
    firstEdge,
    edges: Int32Array.from(edges),
    rules: Int32Array.from(network.rules.flatMap(({ start, end }) => [start, end])),
    rank,
    tails: tailsOf(network),
    size: network.size
  }
}

/** Network that creates its nodes from tables when they are used. */
export class FlatNetwork {
  readonly rank: Int32Array
  /** Number of nodes and of states of the automata. */
  readonly size: number
  readonly #tables: NetworkTables
  readonly #terminals: readonly Terminal[]
  readonly #nodes = new Map<number, NetworkNode>()
  readonly #ends: ReadonlySet<number>

  constructor(tables: NetworkTables) {
    this.#tables = tables
    this.rank = tables.rank
    this.size = tables.size
    const dfas = tables.dfas.map(each => new Dfa(each))
    this.#terminals = Array.from({ length: tables.terminals.length / 4 }, (_, at) => {
      const [dfa = 0, counted, min = 0, max = 0] = tables.terminals.subarray(at * 4, at * 4 + 4)
      return new Terminal(dfas[dfa] as Dfa, counted === 1 ? { min, max } : undefined)
    })
    this.#ends = new Set(Array.from({ length: tables.rules.length / 2 }, (_, rule) => this.rule(rule).end))
  }

  rule(index: number): NetworkRule {
    const { rules } = this.#tables
    return { start: rules[index * 2] as number, end: rules[index * 2 + 1] as number }
  }

  /** True if a rule ends at the node. */
  isEnd(node: number): boolean {
    return this.#ends.has(node)
  }

  /** True if only the end of the rule can be reached from the node, without input. */
  isTail(node: number): boolean {
    return this.#tables.tails[node] === 1
  }

  node(index: number): NetworkNode {
    let node = this.#nodes.get(index)
    if (node === undefined) this.#nodes.set(index, (node = this.#read(index)))
    return node
  }

  #read(index: number): NetworkNode {
    const { firstEdge, edges } = this.#tables
    let at = firstEdge[index] as number
    const next = () => edges[at++] as number
    const list = <T>(read: () => T): T[] => Array.from({ length: next() }, read)
    const jumps = list(next)
    const terminals = list(() => ({ terminal: this.#terminals[next()] as Terminal, to: next() }))
    return { jumps, terminals, calls: list(() => ({ rule: next(), to: next() })) }
  }
}

function tailsOf({ nodes, rules }: Network): Uint8Array {
  const sources: number[][] = nodes.map(() => [])
  for (const [from, { jumps }] of nodes.entries()) for (const to of jumps) sources[to]?.push(from)
  const tails = new Uint8Array(nodes.length)
  const found = rules.map(({ end }) => end)
  for (const end of found) tails[end] = 1
  // The loop also visits nodes that are added while it runs.
  for (const tail of found) {
    for (const from of sources[tail] ?? []) {
      const { jumps, terminals, calls } = nodes[from] as NetworkNode
      if (tails[from] === 1 || terminals.length > 0 || calls.length > 0) continue
      if (!jumps.every(to => tails[to] === 1)) continue
      tails[from] = 1
      found.push(from)
    }
  }
  return tails
}
