/** Zero crossings of the sinc on each side: more crossings make a steeper filter. */
const CROSSINGS = 24
/** Shape of the Kaiser window, which attenuates aliasing by about 80 dB. */
const BETA = 8
/** Pass band, as a fraction of half the lower rate. */
const ROLL_OFF = 0.95

/**
 * Resamples to another rate, band-limited by a Kaiser-windowed sinc with one filter per phase of the ratio
 * (J. O. Smith, Digital Audio Resampling, https://ccrma.stanford.edu/~jos/resample/).
 */
export function resample(samples: Float32Array, from: number, to: number): Float32Array {
  if (from === to) return samples
  const common = divisor(from, to)
  const [up, down] = [to / common, from / common]
  const cutoff = ROLL_OFF * Math.min(1, to / from)
  const half = Math.ceil(CROSSINGS / cutoff)
  const filters = new Map<number, Float64Array>()
  const filterOf = (phase: number): Float64Array => {
    const known = filters.get(phase)
    if (known !== undefined) return known
    const made = filterAt(phase / up, half, cutoff)
    filters.set(phase, made)
    return made
  }
  const out = new Float32Array(Math.ceil((samples.length * to) / from))
  for (let at = 0; at < out.length; at++) {
    const position = at * down
    const filter = filterOf(position % up)
    const first = Math.floor(position / up) - half + 1
    const begin = Math.max(0, -first)
    const end = Math.min(filter.length, samples.length - first)
    let sum = 0
    for (let tap = begin; tap < end; tap++) sum += (samples[first + tap] as number) * (filter[tap] as number)
    out[at] = sum
  }
  return out
}

/** Returns the weights of the samples around a position, `fraction` after one of them. The weights sum to 1. */
function filterAt(fraction: number, half: number, cutoff: number): Float64Array {
  const weights = Float64Array.from({ length: 2 * half }, (_, tap) => {
    const distance = tap - half + 1 - fraction
    const inside = 1 - (distance / half) ** 2
    if (inside <= 0) return 0
    const angle = Math.PI * distance * cutoff
    return (angle === 0 ? 1 : Math.sin(angle) / angle) * bessel(BETA * Math.sqrt(inside))
  })
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map(weight => weight / sum)
}

/** Computes the modified Bessel function of the first kind and order 0, by its series. */
function bessel(x: number): number {
  let term = 1
  let sum = 1
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2
    sum += term
  }
  return sum
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b)
}
