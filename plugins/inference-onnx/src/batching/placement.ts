import type { CacheRow } from './cache-rows.ts'

/**
 * Pairs of rows that have to change places so that the wanted ones follow each other, with the least to be copied.
 * Empty when they do already.
 */
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

function within({ index }: CacheRow, start: number, count: number): boolean {
  return index >= start && index < start + count
}
