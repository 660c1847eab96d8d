import { numbers } from './decimal.ts'
import type { Dfa } from './dfa.ts'
import { jsonString, literals, otherNames } from './json-text.ts'
import { Network, Terminal } from './network.ts'

/** Property of an object; `value`: the rule of its value. */
export interface Property {
  readonly name: string
  readonly value: number
  readonly required: boolean
}

/** Items of an array. `first`: rules of the first items; `rest`: rule of further items, null if there may be none. */
export interface Items {
  readonly first: readonly number[]
  readonly rest: number | null
  readonly min: number
  readonly max: number
}

/** Automata of unbounded numbers, by `integer`; built once. */
const anyNumber = new Map<boolean, Dfa | null>()

export function unboundedNumbers(integer: boolean): Dfa | null {
  if (!anyNumber.has(integer)) anyNumber.set(integer, numbers(integer, {}))
  return anyNumber.get(integer) ?? null
}

/**
 * Adds JSON values to a network. A space may follow a colon or a comma; other white space is excluded, so that an
 * answer cannot be endless white space.
 */
export class JsonNetwork {
  readonly network = new Network()
  readonly #texts = new Map<string, Terminal>()
  #any: number | undefined

  /** Adds an edge that reads a string of an automaton; no edge if the automaton is null. */
  read(from: number, dfa: Dfa | null, to: number, length?: { readonly min: number; readonly max: number }): void {
    if (dfa !== null) this.network.terminal(from, new Terminal(dfa, length), to)
  }

  readString(from: number, to: number, length = { min: 0, max: Number.POSITIVE_INFINITY }): void {
    this.read(from, jsonString(), to, length)
  }

  readText(from: number, text: string, to: number): void {
    let terminal = this.#texts.get(text)
    if (terminal === undefined) {
      terminal = new Terminal(literals([text], /[,:]$/.test(text)) as Dfa)
      this.#texts.set(text, terminal)
    }
    this.network.terminal(from, terminal, to)
  }

  /** Adds an object: known properties in order, then others with different names. `others`: rule of their values. */
  readObject(from: number, properties: readonly Property[], others: number | null, to: number): void {
    const { network } = this
    // Nodes before the first property, and after a property.
    let first = network.node()
    let later = network.node()
    this.readText(from, '{', first)
    for (const { name, value, required } of properties) {
      const valueNode = network.node()
      const after = network.node()
      const nextFirst = network.node()
      const comma = network.node()
      this.readText(first, `${JSON.stringify(name)}:`, valueNode)
      this.readText(later, ',', comma)
      this.readText(comma, `${JSON.stringify(name)}:`, valueNode)
      network.call(valueNode, value, after)
      if (!required) {
        network.jump(first, nextFirst)
        network.jump(later, after)
      }
      first = nextFirst
      later = after
    }
    if (others !== null) {
      const names = otherNames(properties.map(({ name }) => name))
      const [nameNode, colon, valueNode] = [network.node(), network.node(), network.node()]
      this.readText(later, ',', nameNode)
      this.read(nameNode, names, colon)
      this.read(first, names, colon)
      this.readText(colon, ':', valueNode)
      network.call(valueNode, others, later)
    }
    this.readText(first, '}', to)
    this.readText(later, '}', to)
  }

  readArray(from: number, items: Items, to: number): void {
    const { network } = this
    const { first, rest, min, max } = items
    const rule = (index: number) => first[index] ?? rest
    // One node after each number of items; an unbounded list loops at the last node.
    const counted = Number.isFinite(max) ? max : Math.max(1, min, first.length)
    let node = network.node()
    this.readText(from, '[', node)
    for (let count = 0; ; count++) {
      if (count >= min) this.readText(node, ']', to)
      const last = count === counted
      const value = last && Number.isFinite(max) ? null : rule(count)
      if (value === null) return
      let before = node
      if (count > 0) {
        before = network.node()
        this.readText(node, ',', before)
      }
      const next = last ? node : network.node()
      network.call(before, value, next)
      if (last) return
      node = next
    }
  }

  /** Returns the rule of any JSON value. */
  anyValue(): number {
    if (this.#any !== undefined) return this.#any
    const rule = this.network.rule()
    this.#any = rule
    const { start, end } = this.network.rules[rule] as { start: number; end: number }
    for (const text of ['null', 'true', 'false']) this.readText(start, text, end)
    this.read(start, unboundedNumbers(false), end)
    this.readString(start, end)
    this.readArray(start, { first: [], rest: rule, min: 0, max: Number.POSITIVE_INFINITY }, end)
    this.readObject(start, [], rule, end)
    return rule
  }
}
