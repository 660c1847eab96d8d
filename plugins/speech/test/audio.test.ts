import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { convert, formatOf, joined, normalised, readWav, resample, rms, samplesOf, voiced, windowsOf } from '#audio'
import { FIXTURES, tones } from './fixtures.ts'
import { wavFile } from './wav-file.ts'

const RATE = 16_000
const tone = (hertz: number, seconds: number, rate = RATE, loudness = 0.5) =>
  Float32Array.from({ length: seconds * rate }, (_, at) => loudness * Math.sin((2 * Math.PI * hertz * at) / rate))
const far = (a: Float32Array, b: Float32Array) =>
  a.reduce((most, value, at) => Math.max(most, Math.abs(value - b[at]!)), 0)

t.test('WAV files of every encoding give the same samples, and channels are averaged', t => {
  const samples = tone(300, 0.05)
  const codings: [kind: number, bits: number, near: number][] = [
    [1, 8, 0.01],
    [1, 16, 1e-4],
    [1, 24, 1e-6],
    [1, 32, 1e-6],
    [3, 32, 1e-7],
    [3, 64, 1e-7]
  ]
  for (const [kind, bits, near] of codings) {
    const sound = readWav(wavFile([samples], { kind, bits }), 'a.wav')
    t.equal(sound.rate, RATE)
    t.equal(sound.samples.length, samples.length)
    t.ok(far(sound.samples, samples) < near, `${kind} ${bits}`)
  }
  const stereo = readWav(wavFile([samples, samples.map(value => -value)], { kind: 1, bits: 16 }), 'a.wav')
  t.ok(rms(stereo.samples) < 1e-4, 'opposite channels are silence')
  const extensible = wavFile([samples], { kind: 1, bits: 16, extensible: true, before: Buffer.from('odd') })
  t.equal(readWav(extensible, 'a.wav').samples.length, samples.length)
  const loud = readWav(wavFile([Float32Array.of(7, -7, Number.NaN, 0.5)], { kind: 3, bits: 32 }), 'a.wav')
  t.same([...loud.samples], [1, -1, 0, 0.5])
  t.end()
})

t.test('a truncated WAV file is read to its end, and other files are rejected', t => {
  const whole = wavFile([tone(300, 0.05)], { kind: 1, bits: 16 })
  t.equal(readWav(whole.subarray(0, whole.length - 101), 'a.wav').samples.length, 749)
  for (const [bytes, why] of [
    [Buffer.from('hello, this is a letter'), /RIFF/],
    [Buffer.alloc(0), /RIFF/],
    [whole.subarray(0, 12), /no format/],
    [whole.subarray(0, 30), /truncated/],
    [whole.subarray(0, 36), /no data/],
    [wavFile([new Float32Array()], { kind: 1, bits: 16, rate: 0 }), /0 samples per second/]
  ] as const)
    t.throws(() => readWav(bytes, 'a.wav'), { code: 'SPC_AUDIO_INVALID', message: why })
  t.throws(() => readWav(wavFile([tone(9, 0.1)], { kind: 6, bits: 8 }), 'a.wav'), { code: 'SPC_AUDIO_UNSUPPORTED' })
  for (let at = 0; at < whole.length; at++) {
    const broken = Buffer.from(whole)
    broken[at] = 0xff
    try {
      readWav(broken, 'a.wav')
    } catch (error) {
      t.match((error as { code: string }).code, /^SPC_AUDIO_/)
    }
  }
  t.end()
})

t.test('resampling keeps frequencies below half the new rate, and removes those above', t => {
  for (const rate of [8_000, 22_050, 44_100, 48_000]) {
    const made = resample(tone(440, 1, rate), rate, RATE)
    t.equal(made.length, RATE)
    const middle = (samples: Float32Array) => samples.subarray(2_000, 14_000)
    t.ok(far(middle(made), middle(tone(440, 1))) < 1e-3, `from ${rate}`)
  }
  const high = resample(tone(12_000, 1, 48_000), 48_000, RATE)
  t.ok(rms(high.subarray(1_000, 15_000)) < 1e-3, 'no signal above half of the new rate')
  const same = tone(440, 0.1)
  t.equal(resample(same, RATE, RATE), same)
  t.same(resample(new Float32Array(), 8_000, RATE), new Float32Array())
  t.end()
})

t.test('loudness is normalised, and silence stays silent', t => {
  const soft = tone(300, 0.1, RATE, 0.05)
  const peak = (samples: Float32Array) => samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  t.ok(Math.abs(peak(normalised(soft, 'peak_normalize')) - 1) < 1e-3)
  t.ok(Math.abs(rms(normalised(soft, 'rms_normalize')) - 0.1) < 1e-3)
  t.equal(normalised(soft, 'none'), soft)
  const click = new Float32Array(RATE)
  click[5] = 0.5
  t.ok(peak(normalised(click, 'rms_normalize')) <= 1)
  t.same(normalised(new Float32Array(100), 'peak_normalize'), new Float32Array(100))
  t.end()
})

t.test('speech segments are found, and include short pauses', t => {
  const pause = (seconds: number) => new Float32Array(seconds * RATE)
  const parts = [pause(1), tone(300, 0.5), pause(0.2), tone(300, 0.5), pause(2), tone(300, 0.25), pause(0.5)]
  const samples = Float32Array.from(parts.flatMap(part => [...part]))
  const found = voiced(samples, { threshold: 0.003, mergeGapMs: 300, rate: RATE })
  t.equal(found.length, 2)
  const near = (place: number, seconds: number) => Math.abs(place - seconds * RATE) <= 0.16 * RATE
  t.ok(near(found[0]!.start, 1) && near(found[0]!.end, 2.2), JSON.stringify(found[0]))
  t.ok(near(found[1]!.start, 4.2) && near(found[1]!.end, 4.45), JSON.stringify(found[1]))
  t.same(voiced(pause(3), { threshold: 0.003, mergeGapMs: 300, rate: RATE }), [])
  t.equal(voiced(samples, { threshold: 0.003, mergeGapMs: 5_000, rate: RATE }).length, 1)
  t.end()
})

t.test('segments share a window if they fit, and long ones are cut with an overlap', t => {
  const short = [
    { start: 0, end: 100 },
    { start: 150, end: 300 },
    { start: 900, end: 950 }
  ]
  t.same(windowsOf(short, 500, 50), [
    { start: 0, end: 300, overlaps: false },
    { start: 900, end: 950, overlaps: false }
  ])
  const long = windowsOf([{ start: 10, end: 1_210 }], 500, 50)
  t.same(long, [
    { start: 10, end: 510, overlaps: false },
    { start: 460, end: 960, overlaps: true },
    { start: 910, end: 1_210, overlaps: true }
  ])
  t.same(windowsOf([], 500, 50), [])
  t.equal(joined('we went to the', 'To the, house.', true), 'we went to the house.')
  t.equal(joined('we went to the', 'to the house', false), 'we went to the to the house')
  t.equal(joined('', 'a', true), 'a')
  t.equal(joined('a', '', true), 'a')
  t.equal(joined('a -', '- b', true), 'a - - b', 'a dash is not a word')
  t.end()
})

t.test('formats are detected by file extension', t => {
  t.same(['a.TXT', 'b.md', 'c.wav', 'd.Opus', 'e.mov', 'f.exe', 'wav'].map(formatOf), [
    'text',
    'text',
    'wav',
    'converted',
    'converted',
    null,
    null
  ])
  t.end()
})

const ffmpeg = (() => {
  try {
    execFileSync('ffmpeg', ['-version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

t.test('ffmpeg reads other formats', { skip: !ffmpeg && 'ffmpeg is not installed' }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const path = join(folder, '-odd name; $(x).flac')
  execFileSync('ffmpeg', ['-v', 'error', '-i', join(FIXTURES, 'tones.wav'), `file:${path}`])
  const options = { ffmpeg: 'ffmpeg', path, name: 'a.flac', rate: RATE, signal: new AbortController().signal }
  const made = await convert(options)
  t.equal(made.length, tones().length)
  t.ok(far(made, tones()) < 1e-3)

  writeFileSync(path, 'no sound at all')
  await t.rejects(convert(options), { code: 'SPC_AUDIO_INVALID', message: /a\.flac/ })
  const playlist = join(folder, 'list.mp4')
  writeFileSync(
    playlist,
    `#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile://${join(FIXTURES, 'tones.wav')}\n#EXT-X-ENDLIST\n`
  )
  await t.rejects(convert({ ...options, path: playlist }), { code: 'SPC_AUDIO_INVALID' }, 'a playlist is rejected')
  await t.rejects(convert({ ...options, signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' })
})

t.test('without ffmpeg, other formats are rejected with a hint', async t => {
  const options = { path: '/tmp/a.mp3', name: 'a.mp3', rate: RATE, signal: new AbortController().signal }
  await t.rejects(convert({ ...options, ffmpeg: '/nowhere/ffmpeg' }), {
    code: 'SPC_AUDIO_UNSUPPORTED',
    status: 415,
    message: /a\.mp3.*ffmpeg/,
    hint: /install ffmpeg/
  })
})

t.test('PCM is converted to samples', t => {
  t.same([...samplesOf(Buffer.from([0, 0, 0, 0x80, 0xff, 0x7f, 1]))], [0, -1, Math.fround(32767 / 32768)])
  t.end()
})
