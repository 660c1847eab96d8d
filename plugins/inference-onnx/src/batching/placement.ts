import type { CacheRow } from './cache-rows.ts'

/** Returns the swaps that make the requested rows adjacent with the fewest copies; none if they already are. */
export function gather(all: readonly CacheRow[], wanted: readonly CacheRow[]): [outside: CacheRow, inside: CacheRow][] {
  const count = wanted.length
  const indexes = wanted.map(({ index }) => index)
  if (Math.max(...indexes) - Math.min(...indexes) === count - 1) return []
  const chosen = new Set(wanted)
  let best = { start: 0, cost: Number.POSITIVE_INFINITY }
  for (let start = 0; start + count <= all.length; start++) {
    let cost = 0
    for (const row of all) if (chosen.has(row) !== within(row, start, count)) cost += row.length
    if (cost < best.cost) best = { start, cost }
  }
  const outside = wanted.filter(row => !within(row, best.start, count))
  const inside = all.filter(row => !chosen.has(row) && within(row, best.start, count))
  return outside.map((row, i) => [row, inside[i] as CacheRow])
}

/**
 * Returns the swaps, in order, that make the rows of every group adjacent; none if they already are. Arranges all
 * groups together, because {@link gather} for one group could split another.
 */
export function arrange(
  all: readonly CacheRow[],
  groups: readonly (readonly CacheRow[])[]
): [outside: CacheRow, inside: CacheRow][] {
  if (groups.every(group => gather(all, group).length === 0)) return []
  const middle = (group: readonly CacheRow[]) => group.reduce((sum, { index }) => sum + index, 0) / group.length
  const ordered = [...groups].sort((a, b) => middle(a) - middle(b))
  const rows = ordered.flatMap(group => [...group].sort((a, b) => a.index - b.index))
  const rowAt = new Map(all.map(row => [row.index, row]))
  const indexes = new Map(all.map(row => [row, row.index]))
  const pairs: [CacheRow, CacheRow][] = []
  for (const [target, row] of rows.entries()) {
    const other = rowAt.get(target) as CacheRow
    if (other === row) continue
    const from = indexes.get(row) as number
    rowAt.set(target, row).set(from, other)
    indexes.set(row, target).set(other, from)
    pairs.push([row, other])
  }
  return pairs
}

function within({ index }: CacheRow, start: number, count: number): boolean {
  return index >= start && index < start + count
}
