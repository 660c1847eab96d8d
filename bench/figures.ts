/** Median and range of all rounds. The median is robust against other work on the machine. */
export interface Figure {
  readonly median: number
  readonly min: number
  readonly max: number
  /** Value of each round, in order; absent in ratios of figures from different rounds. */
  readonly samples?: readonly number[]
}

/** Minimum number of rounds for a figure of docs/performance.md. Each round measures all contestants. */
export const MIN_ROUNDS = 5

export function figureOf(samples: readonly number[]): Figure {
  return { median: median(samples), min: Math.min(...samples), max: Math.max(...samples), samples }
}

/** Returns the figure of the ratios `over[i] / under[i]`. Both lists have one sample for each round. */
export function ratioOf(over: readonly number[], under: readonly number[]): Figure {
  return figureOf(over.map((value, round) => value / (under[round] as number)))
}

/** Returns the ratio of figures from different rounds. Its range is the widest that the two ranges allow. */
export function ratio(over: Figure, under: Figure): Figure {
  return { median: over.median / under.median, min: over.min / under.max, max: over.max / under.min }
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[sorted.length / 2 - 1] ?? Number.NaN)) / 2
}

/** Returns the figure with the highest median. */
export function highest(figures: readonly Figure[]): Figure {
  return figures.reduce((a, b) => (b.median > a.median ? b : a))
}

/** Returns the median and the range, for example `0.90x (0.85 to 0.95)`. */
export function withRange({ median, min, max }: Figure, unit = '', digits = digitsOf(median)): string {
  const range = min === max ? '' : ` (${min.toFixed(digits)} to ${max.toFixed(digits)})`
  return `${median.toFixed(digits)}${unit}${range}`
}

function digitsOf(value: number): number {
  return value < 10 ? 2 : value < 100 ? 1 : 0
}
