/** Returns the log probabilities of logits, at a temperature above 0. */
export function logSoftmax(logits: Float32Array, temperature = 1): Float32Array {
  const largest = logits.reduce((max, value) => Math.max(max, value), -Infinity)
  const sum = logits.reduce((total, value) => total + Math.exp((value - largest) / temperature), 0)
  const shift = Math.log(sum)
  return logits.map(value => (value - largest) / temperature - shift)
}

/** Returns the index of the largest value; the first one if several are equal. */
export function argmax(values: Float32Array): number {
  let best = 0
  for (let at = 1; at < values.length; at++) if ((values[at] as number) > (values[best] as number)) best = at
  return best
}

/** Samples an index by its probability. `at` is a random number from 0 to 1. */
export function sampleIndex(logProbabilities: Float32Array, at: number): number {
  let rest = at
  for (let index = 0; index < logProbabilities.length; index++) {
    rest -= Math.exp(logProbabilities[index] as number)
    if (rest < 0) return index
  }
  return argmax(logProbabilities)
}

/** Returns a generator of seeded random numbers from 0 to 1, by mulberry32. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
