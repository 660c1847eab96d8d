/**
 * Fast Fourier transform of complex sequences of one length: mixed-radix Cooley-Tukey, decimation in time. Whisper's
 * windows have the length 400 = 4 · 4 · 5 · 5.
 */
export class Fft {
  readonly length: number
  readonly #factors: readonly number[]
  readonly #cos: Float64Array
  readonly #sin: Float64Array
  readonly #gatheredRe: Float64Array
  readonly #gatheredIm: Float64Array

  constructor(length: number) {
    this.length = length
    this.#factors = factorsOf(length)
    this.#cos = Float64Array.from({ length }, (_, at) => Math.cos((2 * Math.PI * at) / length))
    this.#sin = Float64Array.from({ length }, (_, at) => -Math.sin((2 * Math.PI * at) / length))
    const largest = Math.max(1, ...this.#factors)
    this.#gatheredRe = new Float64Array(largest)
    this.#gatheredIm = new Float64Array(largest)
  }

  /** Transforms `re + i·im` into the `out` arrays, which must be different arrays. */
  transform(re: Float64Array, im: Float64Array, outRe: Float64Array, outIm: Float64Array): void {
    this.#part(re, im, 0, 1, outRe, outIm, 0, this.length, 0)
  }

  #part(
    re: Float64Array,
    im: Float64Array,
    from: number,
    stride: number,
    outRe: Float64Array,
    outIm: Float64Array,
    to: number,
    count: number,
    level: number
  ): void {
    if (count === 1) {
      outRe[to] = re[from] as number
      outIm[to] = im[from] as number
      return
    }
    const radix = this.#factors[level] as number
    const size = count / radix
    for (let part = 0; part < radix; part++)
      this.#part(re, im, from + part * stride, stride * radix, outRe, outIm, to + part * size, size, level + 1)
    this.#join(outRe, outIm, to, radix, size, stride)
  }

  /** Combines `radix` adjacent transforms of `size` into one. */
  #join(re: Float64Array, im: Float64Array, to: number, radix: number, size: number, stride: number): void {
    const [cos, sin, length] = [this.#cos, this.#sin, this.length]
    const [a, b] = [this.#gatheredRe, this.#gatheredIm]
    const turn = length / radix
    for (let at = 0; at < size; at++) {
      for (let part = 0; part < radix; part++) {
        const index = to + part * size + at
        const angle = part * at * stride
        const [x, y] = [re[index] as number, im[index] as number]
        const [c, s] = [cos[angle] as number, sin[angle] as number]
        a[part] = x * c - y * s
        b[part] = x * s + y * c
      }
      for (let part = 0; part < radix; part++) {
        let [x, y] = [0, 0]
        for (let each = 0; each < radix; each++) {
          const angle = ((part * each) % radix) * turn
          const [c, s] = [cos[angle] as number, sin[angle] as number]
          x += (a[each] as number) * c - (b[each] as number) * s
          y += (a[each] as number) * s + (b[each] as number) * c
        }
        re[to + part * size + at] = x
        im[to + part * size + at] = y
      }
    }
  }
}

/** Factors a length. Factors of 4 come first, because they are cheaper than pairs of 2. */
function factorsOf(length: number): number[] {
  const factors: number[] = []
  let rest = length
  for (const factor of [4, 2, 3, 5]) {
    for (; rest % factor === 0; rest /= factor) factors.push(factor)
  }
  for (let factor = 7; rest > 1; factor += 2) {
    for (; rest % factor === 0; rest /= factor) factors.push(factor)
  }
  return factors
}
