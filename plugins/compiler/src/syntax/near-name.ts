/** Returns the word most similar to `name`; undefined if none is similar enough. */
export function nearName(name: string, words: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(name.length / 3))
  let best: string | undefined
  let minDistance = limit + 1
  for (const word of words) {
    if (Math.abs(word.length - name.length) >= minDistance) continue
    const found = distance(name, word, minDistance)
    if (found >= minDistance) continue
    minDistance = found
    best = word
  }
  return best
}

/** Returns the edit distance with swaps of neighbours; `limit` if the distance is that or more. */
function distance(from: string, to: string, limit: number): number {
  let before: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1]
      let cost = Math.min(
        (above[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (above[column - 1] as number) + (same ? 0 : 1)
      )
      const swapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      if (swapped) cost = Math.min(cost, (before[column - 2] as number) + 1)
      current.push(cost)
    }
    if (Math.min(...current) >= limit) return limit
    before = above
    above = current
  }
  return above[to.length] as number
}
