import t from 'tap'
import { Fft, LogMel } from '#whisper'
import { fixtureFloats, fixtureJson, tones } from './fixtures.ts'

interface Features {
  readonly bins: number
  readonly frames: number
  readonly offset: number
  readonly silence: number
}

t.test('features equal the reference, for 80 and 128 bands', t => {
  const { features } = fixtureJson<{ features: readonly Features[] }>('features.json')
  const values = fixtureFloats('features.bin')
  t.equal(features.length, 2)
  for (const { bins, frames, offset, silence } of features) {
    const front = new LogMel({ bands: bins, window: 400, hop: 160, samples: 480_000, rate: 16_000 })
    const made = front.features(tones())
    t.equal(made.length, bins * 3000)
    let worst = 0
    for (let band = 0; band < bins; band++)
      for (let frame = 0; frame < frames; frame++)
        worst = Math.max(worst, Math.abs(made[band * 3000 + frame]! - values[offset + band * frames + frame]!))
    t.ok(worst < 1e-4, `${bins} bands differ by at most ${worst}`)
    t.ok(Math.abs(made[2999]! - silence) < 1e-6, 'the rest is silence')
  }
  t.end()
})

t.test('a transform of any length equals the discrete Fourier transform', t => {
  for (const length of [1, 2, 8, 30, 49, 400]) {
    const re = Float64Array.from({ length }, (_, at) => Math.sin(at * at) + 0.3)
    const im = Float64Array.from({ length }, (_, at) => Math.cos(3 * at))
    const [outRe, outIm] = [new Float64Array(length), new Float64Array(length)]
    new Fft(length).transform(re, im, outRe, outIm)
    let worst = 0
    for (let bin = 0; bin < length; bin++) {
      let [x, y] = [0, 0]
      for (let at = 0; at < length; at++) {
        const angle = (-2 * Math.PI * bin * at) / length
        x += re[at]! * Math.cos(angle) - im[at]! * Math.sin(angle)
        y += re[at]! * Math.sin(angle) + im[at]! * Math.cos(angle)
      }
      worst = Math.max(worst, Math.hypot(outRe[bin]! - x, outIm[bin]! - y))
    }
    t.ok(worst < 1e-9, `length ${length}: ${worst}`)
  }
  t.end()
})

t.test('a recording that is too long is truncated, and a full one is mirrored at its end', t => {
  const front = new LogMel({ bands: 80, window: 400, hop: 160, samples: 1600, rate: 16_000 })
  const long = Float32Array.from({ length: 4000 }, (_, at) => Math.sin(at / 5))
  t.same(front.features(long), front.features(long.subarray(0, 1600)))
  t.ok(front.features(long).every(Number.isFinite))
  t.end()
})
