/** Part of a copy between two states, as rows of equal width. */
export interface BlockCopy {
  /** Positions per block. */
  readonly positions: number
  readonly sourceRows: readonly number[]
  readonly targetRows: readonly number[]
}

export interface CacheGeometry {
  readonly heads: number
  readonly sourcePositions: number
  readonly targetPositions: number
}

/** Block sizes in positions, largest first: few wide blocks copy faster than many narrow ones. */
const SIZES = [512, 64, 8, 1] as const

/**
 * Splits a copy between two states of shape `[rows, heads, positions, size]` into row copies: positions `start` to
 * `end` of all heads, from row `from` to row `to`. Row numbers refer to the same memory with shape `[rows * heads *
 * positions / block, block * size]`.
 */
export function blockCopies(
  geometry: CacheGeometry,
  from: number,
  to: number,
  start: number,
  end: number
): readonly BlockCopy[] {
  const { heads, sourcePositions, targetPositions } = geometry
  const sizes = SIZES.filter(size => sourcePositions % size === 0 && targetPositions % size === 0)
  const copies: BlockCopy[] = []
  let gaps: (readonly [start: number, end: number])[] = [[start, end]]
  for (const size of sizes) {
    const starts: number[] = []
    gaps = gaps.flatMap(([first, last]) => {
      const [low, high] = [Math.ceil(first / size) * size, Math.floor(last / size) * size]
      if (low >= high) return [[first, last] as const]
      for (let position = low; position < high; position += size) starts.push(position)
      return [[first, low] as const, [high, last] as const].filter(([a, b]) => a < b)
    })
    if (starts.length === 0) continue
    const rows = (row: number, positions: number) =>
      Array.from({ length: heads }, (_, head) =>
        starts.map(position => ((row * heads + head) * positions + position) / size)
      ).flat()
    copies.push({ positions: size, sourceRows: rows(from, sourcePositions), targetRows: rows(to, targetPositions) })
  }
  return copies
}
