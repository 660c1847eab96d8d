import { spendSteps } from './compile-limits.ts'

/** Inclusive ranges of Unicode code points, sorted and disjoint. */
export type CodePoints = readonly (readonly [first: number, last: number])[]

/** All code points except surrogates, which cannot be encoded in UTF-8. */
export const everyCodePoint: CodePoints = [
  [0, 0xd7ff],
  [0xe000, 0x10ffff]
]

/** Normalises ranges to a set, without surrogates. */
export function codePoints(ranges: Iterable<readonly [number, number]>): CodePoints {
  const sorted = [...ranges].sort((a, b) => a[0] - b[0])
  const merged: [number, number][] = []
  for (const [first, last] of sorted) {
    const previous = merged.at(-1)
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else merged.push([first, last])
  }
  return intersect(merged, everyCodePoint)
}

export function intersect(a: CodePoints, b: CodePoints): CodePoints {
  const common: [number, number][] = []
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const [first, last] = a[i] as CodePoints[number]
    const [otherFirst, otherLast] = b[j] as CodePoints[number]
    const low = Math.max(first, otherFirst)
    const high = Math.min(last, otherLast)
    if (low <= high) common.push([low, high])
    if (last < otherLast) i++
    else j++
  }
  return common
}

/** Returns all code points that are not in `set`. */
export function complement(set: CodePoints): CodePoints {
  const rest: [number, number][] = []
  let next = 0
  for (const [first, last] of set) {
    if (first > next) rest.push([next, first - 1])
    next = last + 1
  }
  if (next <= 0x10ffff) rest.push([next, 0x10ffff])
  return intersect(rest, everyCodePoint)
}

export function union(...sets: readonly CodePoints[]): CodePoints {
  return codePoints(sets.flat())
}

/** Returns the code points that satisfy a predicate. */
export function matching(test: (character: string) => boolean): CodePoints {
  const found: [number, number][] = []
  for (const [first, last] of everyCodePoint) {
    for (let point = first; point <= last; point++) {
      spendSteps(2)
      if (!test(String.fromCodePoint(point))) continue
      const previous = found.at(-1)
      if (previous !== undefined && previous[1] === point - 1) previous[1] = point
      else found.push([point, point])
    }
  }
  return found
}
