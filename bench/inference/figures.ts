/** What was measured in all rounds: the best round, since other work on the machine can only take away, and the median. */
export interface Figure {
  readonly best: number
  readonly median: number
}

/** Figure of milliseconds and the like, of which the least is the best. */
export function least(samples: readonly number[]): Figure {
  return { best: Math.min(...samples), median: median(samples) }
}

/** Figure of tokens per second and the like. */
export function most(samples: readonly number[]): Figure {
  return { best: Math.max(...samples), median: median(samples) }
}

function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[sorted.length / 2 - 1] ?? Number.NaN)) / 2
}

/** Best over best, and median over median. */
export function ratio(ours: Figure, theirs: Figure): Figure {
  return { best: ours.best / theirs.best, median: ours.median / theirs.median }
}

/** Of some figures the one whose best is highest. */
export function highest(figures: readonly Figure[]): Figure {
  return figures.reduce((a, b) => (b.best > a.best ? b : a))
}
