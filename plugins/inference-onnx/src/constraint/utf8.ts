import type { CodePoints } from './code-points.ts'
import { spendSteps } from './compile-limits.ts'

/** Set of byte sequences of equal length: one range for each byte. */
export type ByteRanges = readonly (readonly [low: number, high: number])[]

/** Last code points that UTF-8 encodes in 1, 2, 3 and 4 bytes. */
const LIMITS = [0x7f, 0x7ff, 0xffff, 0x10ffff]

/** Returns the UTF-8 encodings of a set of code points. */
export function utf8(set: CodePoints): ByteGraph {
  return byteGraph(utf8Ranges(set))
}

/**
 * Returns the UTF-8 encodings of a set of code points, as sequences of byte ranges. A sequence stands for every
 * combination of its bytes. Sequences of the result do not overlap.
 */
export function utf8Ranges(set: CodePoints): ByteRanges[] {
  const sequences: ByteRanges[] = []
  for (const [first, last] of set) {
    let low = first
    for (const limit of LIMITS) {
      if (low > last) break
      if (low > limit) continue
      split(low, Math.min(last, limit), sequences)
      low = limit + 1
    }
  }
  return sequences
}

/** Splits a range, whose ends have encodings of equal length, into sequences of byte ranges. */
function split(first: number, last: number, sequences: ByteRanges[]): void {
  const width = LIMITS.findIndex(limit => last <= limit)
  for (let tail = 1; tail <= width; tail++) {
    const mask = 2 ** (6 * tail) - 1
    if ((first & ~mask) === (last & ~mask)) continue
    if ((first & mask) !== 0) {
      split(first, first | mask, sequences)
      split((first | mask) + 1, last, sequences)
      return
    }
    if ((last & mask) !== mask) {
      split(first, (last & ~mask) - 1, sequences)
      split(last & ~mask, last, sequences)
      return
    }
  }
  const low = encode(first)
  const high = encode(last)
  sequences.push(low.map((byte, i) => [byte, high[i] as number]))
}

function encode(point: number): number[] {
  return [...Buffer.from(String.fromCodePoint(point))]
}

/** Acyclic graph of byte sequences: the edges of each node, which do not overlap. Node 0 is the start. */
export type ByteGraph = readonly (readonly ByteEdge[])[]

export interface ByteEdge {
  readonly low: number
  readonly high: number
  /** Next node, or -1 if the sequence ends. */
  readonly to: number
}

/** Builds a graph that shares common prefixes and suffixes. No sequence may be a prefix of another. */
export function byteGraph(sequences: readonly ByteRanges[]): ByteGraph {
  const nodes: ByteEdge[][] = []
  const known = new Map<string, number>()
  const visit = (rest: readonly ByteRanges[]): number => {
    if (rest.some(ranges => ranges.length === 0)) return -1
    const key = rest.join(';')
    const found = known.get(key)
    if (found !== undefined) return found
    const edges: ByteEdge[] = []
    const node = nodes.push(edges) - 1
    known.set(key, node)
    const cuts = [...new Set(rest.flatMap(([[low, high] = [0, 0]]) => [low, high + 1]))].sort((a, b) => a - b)
    for (const [i, low] of cuts.slice(0, -1).entries()) {
      const high = (cuts[i + 1] as number) - 1
      spendSteps(Math.ceil(rest.length / 10))
      const through = rest.filter(([[first, last] = [0, 0]]) => first <= low && high <= last)
      if (through.length > 0) edges.push({ low, high, to: visit(through.map(ranges => ranges.slice(1))) })
    }
    return node
  }
  visit(sequences)
  return nodes
}
