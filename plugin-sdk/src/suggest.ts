/** Returns the candidate with the fewest edits from a word, or undefined if none is within `maxEdits`. */
export function closest(
  word: string,
  candidates: readonly string[],
  maxEdits: number = Math.max(2, Math.floor(word.length / 3))
): string | undefined {
  let best: string | undefined
  let smallest = maxEdits + 1
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate, smallest)
    if (distance < smallest) {
      smallest = distance
      best = candidate
    }
  }
  return best
}

/** Returns the Levenshtein distance; if that is not below `limit`, `limit` or more. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitution))
    }
    if (Math.min(...next) >= limit) return limit
    row = next
  }
  return row[b.length] ?? limit
}
