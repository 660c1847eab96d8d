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

/** Names that an object may have in addition to its known properties, and the rule of their values. */
export interface OtherProperties {
  readonly names: Dfa | null
  readonly value: number
}

export interface Count {
  readonly min: number
  readonly max: number
}

const ANY_COUNT: Count = { min: 0, max: Number.POSITIVE_INFINITY }

/** Items of which some must also follow other rules. */
export interface Contained {
  /** Rules of the first items that count, and of further ones. */
  readonly first: readonly number[]
  readonly rest: number | null
  /** Minimum number of such items. */
  readonly min: number
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

  /** Adds an object: known properties in order, then others. `count`: number of properties. */
  readObject(
    from: number,
    properties: readonly Property[],
    others: readonly OtherProperties[],
    to: number,
    count: Count = ANY_COUNT
  ): void {
    const { network } = this
    const isLimited = Number.isFinite(count.max)
    // Above the last number, further properties make no difference.
    const last = isLimited ? count.max : Math.max(1, count.min)
    const following = (number: number) => (number < last ? number + 1 : isLimited ? null : last)
    const row = () => Array.from({ length: last + 1 }, () => network.node())
    // One node for each number of properties before the next property.
    let before = row()
    this.readText(from, '{', before[0] as number)
    for (const { name, value, required } of properties) {
      const after = row()
      const values = new Map<number, number>()
      for (const [number, node] of before.entries()) {
        if (!required) network.jump(node, after[number] as number)
        const next = following(number)
        if (next === null) continue
        let valueNode = values.get(next)
        if (valueNode === undefined) {
          values.set(next, (valueNode = network.node()))
          network.call(valueNode, value, after[next] as number)
        }
        this.readText(this.#following(node, number), `${JSON.stringify(name)}:`, valueNode)
      }
      before = after
    }
    for (const [number, node] of before.entries()) {
      if (number >= count.min) this.readText(node, '}', to)
      const next = following(number)
      if (next === null || others.length === 0) continue
      const nameNode = this.#following(node, number)
      for (const { names, value } of others) {
        const [colon, valueNode] = [network.node(), network.node()]
        this.read(nameNode, names, colon)
        this.readText(colon, ':', valueNode)
        network.call(valueNode, value, before[next] as number)
      }
    }
  }

  /** Returns the node before the next element, after a comma unless it is the first one. */
  #following(node: number, number: number): number {
    if (number === 0) return node
    const comma = this.network.node()
    this.readText(node, ',', comma)
    return comma
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

  /** Adds an array of which `contained.min` items or more also follow the rules of `contained`. */
  readContaining(from: number, items: Items, contained: Contained, to: number): void {
    const { network } = this
    const { first, rest, min, max } = items
    const rule = (index: number) => first[index] ?? rest
    const containedRule = (index: number) => contained.first[index] ?? contained.rest
    const isLimited = Number.isFinite(max)
    const counted = isLimited ? max : Math.max(1, min, first.length)
    const row = () => Array.from({ length: contained.min + 1 }, () => network.node())
    // One node for each number of contained items after each number of items.
    let before = row()
    this.readText(from, '[', before[0] as number)
    for (let count = 0; ; count++) {
      if (count >= min) this.readText(before[contained.min] as number, ']', to)
      const isLast = count === counted
      const value = isLast && isLimited ? null : rule(count)
      if (value === null) return
      const after = isLast ? before : row()
      for (const [hits, node] of before.entries()) {
        let next = node
        if (count > 0) {
          next = network.node()
          this.readText(node, ',', next)
        }
        network.call(next, value, after[hits] as number)
        const containedValue = containedRule(count)
        if (containedValue !== null && hits < contained.min)
          network.call(next, containedValue, after[hits + 1] as number)
      }
      if (isLast) return
      before = after
    }
  }

  /** Adds an array of different values. Throws `NetworkTooLarge`. */
  readDistinct(from: number, values: readonly unknown[], { min, max }: Count, to: number): void {
    const { network } = this
    // One node for each set of values so far: one bit for each value.
    const nodes = new Map<number, number>()
    const open: { readonly used: number; readonly count: number }[] = []
    const nodeOf = (used: number, count: number): number => {
      let node = nodes.get(used)
      if (node === undefined) {
        nodes.set(used, (node = network.node()))
        open.push({ used, count })
      }
      return node
    }
    this.readText(from, '[', nodeOf(0, 0))
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      const { used, count } = state
      const node = nodes.get(used) as number
      if (count >= min) this.readText(node, ']', to)
      if (count >= Math.min(max, values.length)) continue
      const next = this.#following(node, count)
      for (const [index, value] of values.entries()) {
        if ((used & (1 << index)) === 0)
          this.readText(next, JSON.stringify(value), nodeOf(used | (1 << index), count + 1))
      }
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
    this.readObject(start, [], [{ names: otherNames([]), value: rule }], end)
    return rule
  }
}
