/** Random number generator with values in [0, 1). */
export type Random = () => number

/**
 * Returns an sfc32 generator (Chris Doty-Humphrey's small fast counting generator, from PractRand), with 128 bits of
 * state. The seed may be any number; equal seeds give equal sequences.
 */
export function seededRandom(seed: number): Random {
  const words = new Uint32Array(Float64Array.of(seed).buffer)
  let a = words[0] as number
  let b = words[1] as number
  let c = 0x9e3779b9
  let counter = 1
  const next = () => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }
  for (let round = 0; round < 15; round++) next()
  return next
}
