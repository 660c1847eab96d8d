/** Discounted cumulative gain of grades in the order of a result, with gain 2^grade - 1. */
function gain(grades: readonly number[], depth: number): number {
  return grades.slice(0, depth).reduce((sum, grade, at) => sum + (2 ** grade - 1) / Math.log2(at + 2), 0)
}

/** nDCG: gain of a result divided by that of the best possible order of `all` grades. */
export function ndcg(grades: readonly number[], all: readonly number[], depth = 10): number {
  const best = gain(
    all.toSorted((a, b) => b - a),
    depth
  )
  return best === 0 ? 0 : gain(grades, depth) / best
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
}

/**
 * Interval of the mean of differences of two systems on the same questions: 95 of 100 samples of as many questions with
 * replacement have their mean in it.
 */
export function interval(differences: readonly number[], samples = 2_000): readonly [number, number] {
  let seed = 7
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const means = Array.from({ length: samples }, () =>
    mean(differences.map(() => differences[Math.floor(random() * differences.length)] as number))
  ).sort((a, b) => a - b)
  return [means[Math.floor(samples * 0.025)] as number, means[Math.floor(samples * 0.975)] as number]
}
