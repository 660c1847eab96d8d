/** A triangular filter over the bins of a spectrum. */
export interface MelFilter {
  /** First bin with a weight. */
  readonly start: number
  readonly weights: Float64Array
}

/**
 * Returns triangular filters of equal area, evenly spaced on Slaney's mel scale from 0 Hz to half the rate, as in
 * `librosa.filters.mel` (M. Slaney, Auditory Toolbox, 1998).
 *
 * `spectrum` is the number of bins from 0 Hz to half the rate, both included.
 */
export function melFilters(count: number, spectrum: number, rate: number): readonly MelFilter[] {
  const highest = melOf(rate / 2)
  const corners = Array.from({ length: count + 2 }, (_, at) => hertzOf((highest * at) / (count + 1)))
  return Array.from({ length: count }, (_, at) => {
    const [low, middle, high] = [corners[at] as number, corners[at + 1] as number, corners[at + 2] as number]
    const weights = Float64Array.from({ length: spectrum }, (_, bin) => {
      const hertz = (bin * rate) / 2 / (spectrum - 1)
      const triangle = Math.min((hertz - low) / (middle - low), (high - hertz) / (high - middle))
      return Math.max(0, triangle) * (2 / (high - low))
    })
    const start = weights.findIndex(weight => weight > 0)
    if (start === -1) return { start: 0, weights: new Float64Array() }
    return { start, weights: weights.slice(start, weights.findLastIndex(weight => weight > 0) + 1) }
  })
}

/** The mel scale is linear up to 1 kHz, and logarithmic above. */
const LINEAR_STEP = 200 / 3
const CORNER_HERTZ = 1000
const CORNER_MEL = CORNER_HERTZ / LINEAR_STEP
const LOG_STEP = Math.log(6.4) / 27

function melOf(hertz: number): number {
  return hertz < CORNER_HERTZ ? hertz / LINEAR_STEP : CORNER_MEL + Math.log(hertz / CORNER_HERTZ) / LOG_STEP
}

function hertzOf(mel: number): number {
  return mel < CORNER_MEL ? mel * LINEAR_STEP : CORNER_HERTZ * Math.exp(LOG_STEP * (mel - CORNER_MEL))
}
