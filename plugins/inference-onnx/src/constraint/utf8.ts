import type { CodePoints } from './code-points.ts'

/** One range of bytes for each byte of a sequence. */
export type ByteRanges = readonly (readonly [low: number, high: number])[]

/** Last code points encoded in 1, 2, 3 and 4 bytes. */
const LIMITS = [0x7f, 0x7ff, 0xffff, 0x10ffff]

/** UTF-8 of a set of code points. */
export function utf8(set: CodePoints): ByteGraph {
  return byteGraph(utf8Ranges(set))
}

/**
 * UTF-8 of a set of code points, as sequences of byte ranges; each sequence stands for every combination of its bytes.
 * Sequences of the result do not overlap.
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

/** Splits a range with ends of equal length until its sequences are products of ranges. */
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

/** Byte sequences as an acyclic graph: for each node its edges, which do not overlap. Node 0 is the start. */
export type ByteGraph = readonly (readonly ByteEdge[])[]

export interface ByteEdge {
  readonly low: number
  readonly high: number
  /** The next node, or -1 where the sequence ends. */
  readonly to: number
}

/** Shares common prefixes and suffixes of sequences. No sequence may be a prefix of another one. */
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
      const through = rest.filter(([[first, last] = [0, 0]]) => first <= low && high <= last)
      if (through.length > 0) edges.push({ low, high, to: visit(through.map(ranges => ranges.slice(1))) })
    }
    return node
  }
  visit(sequences)
  return nodes
}
