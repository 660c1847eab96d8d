/** Scores of one hit; null if the leg did not find it. */
export interface LegScores {
  readonly text: number | null
  readonly vector: number | null
}

/** Fused score: `weight` x vector + (1 - `weight`) x text, or the score of the only leg. */
export function fuse({ text, vector }: LegScores, weight: number): number {
  if (text === null) return vector ?? 0
  if (vector === null) return text
  return weight * vector + (1 - weight) * text
}

export interface FusedLine {
  readonly line: string
  readonly score: number
}

const MIN_FUSED = 8

/**
 * Reciprocal rank fusion of the lists of lines, best first: the score of a line is the sum of 1/(k + rank) over the
 * lists, rank from 1. Lines with the same key in brackets are one. Empty without at least two non-empty lists.
 * Returns at most `max(2 x limit, 8)` lines.
 */
export function reciprocalRankFusion(
  lists: readonly (readonly string[])[],
  k: number,
  limit: number
): readonly FusedLine[] {
  const filled = lists.filter(({ length }) => length > 0)
  if (filled.length < 2) return []
  const fused = new Map<string, { line: string; score: number }>()
  for (const list of filled) {
    const seen = new Set<string>()
    for (const [index, line] of list.entries()) {
      const key = lineKey(line)
      if (seen.has(key)) continue
      seen.add(key)
      const entry = fused.get(key) ?? { line, score: 0 }
      entry.score += 1 / (k + index + 1)
      fused.set(key, entry)
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score).slice(0, Math.max(2 * limit, MIN_FUSED))
}

/** Returns the bracketed key at the start of a line; the line, if it has none. */
export function lineKey(line: string): string {
  return /^\[([^\]]*)\]/.exec(line)?.[1] ?? line
}
