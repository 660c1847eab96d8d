import { Fft } from './fft.ts'
import { type MelFilter, melFilters } from './mel-filters.ts'

export interface LogMelOptions {
  /** Number of mel bands: 80, or 128 since large-v3. */
  readonly bands: number
  /** Samples of one window: 400, which is 25 ms. */
  readonly window: number
  /** Samples from one window to the next: 160, which is 10 ms. */
  readonly hop: number
  /** Padded length of a recording, in samples. */
  readonly samples: number
  /** Samples per second. */
  readonly rate: number
}

const FLOOR = 1e-10

/**
 * Whisper's front end: the logarithm of a mel spectrogram, clipped eight decades below its maximum and scaled to about
 * -1 to 1 (A. Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, 2022, section 2.2).
 */
export class LogMel {
  readonly bands: number
  /** Frames of a recording. */
  readonly frames: number
  readonly samples: number
  readonly #hop: number
  readonly #fft: Fft
  readonly #hann: Float64Array
  readonly #filters: readonly MelFilter[]
  /** Real and imaginary parts before and after a transform. */
  readonly #rows: readonly [Float64Array, Float64Array, Float64Array, Float64Array]
  readonly #powers: readonly [Float64Array, Float64Array]

  constructor({ bands, window, hop, samples, rate }: LogMelOptions) {
    this.bands = bands
    this.samples = samples
    this.frames = Math.floor(samples / hop)
    this.#hop = hop
    this.#fft = new Fft(window)
    this.#hann = Float64Array.from({ length: window }, (_, at) => 0.5 - 0.5 * Math.cos((2 * Math.PI * at) / window))
    const row = () => new Float64Array(window)
    this.#rows = [row(), row(), row(), row()]
    const bins = Math.floor(window / 2) + 1
    this.#powers = [new Float64Array(bins), new Float64Array(bins)]
    this.#filters = melFilters(bands, bins, rate)
  }

  /** Computes the features of mono samples, as rows `[bands][frames]`. Ignores samples beyond the maximum length. */
  features(samples: Float32Array): Float32Array {
    const audio = samples.subarray(0, this.samples)
    const { frames, bands } = this
    const logs = new Float32Array(bands * frames).fill(Math.log10(FLOOR))
    const half = this.#fft.length / 2
    // Only frames that contain samples are transformed; the others are silent.
    const touched = Math.min(frames, Math.ceil((audio.length + half) / this.#hop) + 1)
    for (let frame = 0; frame < touched; frame += 2) this.#pair(audio, frame, logs)
    return scaled(logs)
  }

  /** Transforms two frames in one FFT, as real and imaginary part, and separates their spectra. */
  #pair(samples: Float32Array, frame: number, logs: Float32Array): void {
    const { length } = this.#fft
    const [re, im, outRe, outIm] = this.#rows
    this.#windowed(samples, frame, re)
    this.#windowed(samples, frame + 1, im)
    this.#fft.transform(re, im, outRe, outIm)
    const [first, second] = this.#powers
    for (let bin = 0; bin < first.length; bin++) {
      const mirrored = (length - bin) % length
      const [a, b] = [outRe[bin] as number, outIm[bin] as number]
      const [c, d] = [outRe[mirrored] as number, outIm[mirrored] as number]
      first[bin] = ((a + c) ** 2 + (b - d) ** 2) / 4
      second[bin] = ((b + d) ** 2 + (c - a) ** 2) / 4
    }
    this.#filter(first, frame, logs)
    if (frame + 1 < this.frames) this.#filter(second, frame + 1, logs)
  }

  /** Writes the windowed samples of a frame. Beyond both ends of the padded recording, samples are mirrored. */
  #windowed(samples: Float32Array, frame: number, into: Float64Array): void {
    const start = frame * this.#hop - this.#fft.length / 2
    for (let at = 0; at < into.length; at++) {
      const index = Math.abs(start + at)
      const mirrored = index < this.samples ? index : 2 * (this.samples - 1) - index
      into[at] = (samples[mirrored] ?? 0) * (this.#hann[at] as number)
    }
  }

  #filter(powers: Float64Array, frame: number, logs: Float32Array): void {
    for (let band = 0; band < this.bands; band++) {
      const { start, weights } = this.#filters[band] as MelFilter
      let sum = 0
      for (let at = 0; at < weights.length; at++) sum += (weights[at] as number) * (powers[start + at] as number)
      logs[band * this.frames + frame] = Math.log10(Math.max(FLOOR, sum))
    }
  }
}

function scaled(logs: Float32Array): Float32Array {
  const lowest = logs.reduce((max, value) => Math.max(max, value), -Infinity) - 8
  return logs.map(value => (Math.max(value, lowest) + 4) / 4)
}
