/** Passages that the rarest terms may have together, so that these terms choose the passages. */
const MAX_CHOSEN = 4_000

export interface CountedTerm {
  readonly term: string
  /** FTS5 query for the term. */
  readonly match: string
  /** Passages that contain the term. */
  readonly count: number
}

export interface Candidates {
  /** FTS5 query; null if no passage has a term. */
  readonly match: string | null
  /** FTS5 query for all passages with a term, except very common ones. */
  readonly all: string | null
  /** True if `match` finds all passages with a term. */
  readonly isComplete: boolean
}

/**
 * Chooses the FTS5 query that finds the best passages without ranking all that have a term, since ranking takes much
 * longer than finding. The rarest terms, which `maximum` passages have at most, choose the passages, and so do the two
 * rarest of the other terms if a passage has both. The other terms only count for the rank. Terms in more than half of
 * `total` passages are left out if there are others.
 */
export function candidateQuery(terms: readonly CountedTerm[], total: number, maximum = MAX_CHOSEN): Candidates {
  const present = terms.filter(({ count }) => count > 0).toSorted((a, b) => a.count - b.count)
  if (present.length === 0) return { match: null, all: null, isComplete: true }
  let sum = 0
  const rare = present.filter(({ count }) => {
    sum += count
    return sum <= maximum
  })
  if (rare.length === present.length) return { match: anyOf(present), all: anyOf(present), isComplete: true }
  // The full-text index gives almost no weight to a term in more than half of the texts.
  const telling = present.filter(({ count }) => count <= Math.max(maximum, total / 2))
  const used = telling.length === 0 ? present : telling
  const pair = used.slice(rare.length, rare.length + 2)
  const choosing = [
    ...rare.map(({ match }) => match),
    ...(pair.length < 2 ? [] : [`(${pair.map(({ match }) => match).join(' AND ')})`])
  ]
  const all = anyOf(used)
  return { match: choosing.length === 0 ? all : `(${choosing.join(' OR ')}) AND (${all})`, all, isComplete: false }
}

function anyOf(terms: readonly CountedTerm[]): string {
  return terms.map(({ match }) => match).join(' OR ')
}
