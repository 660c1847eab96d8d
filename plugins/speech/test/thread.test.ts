import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { findModel, type Plan, WhisperThread } from '#whisper'
import { tones } from './fixtures.ts'
import { MODEL, openWorld } from './world.ts'

const found = await findModel(MODEL)
if (!found.complete) throw new Error('the fixture is complete')
const plan: Plan = {
  model: found.files,
  open: { threads: 1, cuda: false },
  language: 'en',
  task: 'transcribe',
  preprocessing: 'none',
  voice: { threshold: 0.003, mergeGapMs: 300 },
  chunkSeconds: 28,
  overlapSeconds: 0.5,
  bias: { phrases: [], strength: 0, maxTokens: 0 }
}
const forever = new AbortController().signal
const samples = (seconds: number) => {
  const once = tones()
  return Float32Array.from({ length: seconds * 16_000 }, (_, at) => once[at % once.length]!)
}

t.test('recordings are processed one after another, without blocking the event loop', async t => {
  const thread = new WhisperThread()
  t.equal(thread.device, null)
  let turns = 0
  const ticking = setInterval(() => turns++, 1)
  const results = await Promise.all(
    [1, 2, 3].map(() => thread.recognise({ kind: 'samples', samples: tones() }, plan, forever))
  )
  clearInterval(ticking)
  t.equal(new Set(results.map(({ text }) => text)).size, 1)
  t.match(results[0], { language: 'en', durationMs: 1900, device: 'cpu' })
  t.ok(turns > 10, `the loop had ${turns} turns`)
  t.equal(thread.load, 0)
  await thread.close()
  t.throws(() => thread.recognise({ kind: 'samples', samples: tones() }, plan, forever), {
    code: 'SPC_RECOGNISER_FAILED'
  })
})

t.test('long recordings are read in windows, and silence is skipped', async t => {
  const thread = new WhisperThread()
  t.teardown(() => thread.close())
  const read = (seconds: number, chunkSeconds: number, voice = plan.voice) =>
    thread.recognise({ kind: 'samples', samples: samples(seconds) }, { ...plan, chunkSeconds, voice }, forever)
  const short = await read(12, 28)
  const long = await read(12, 5)
  t.ok(long.text.length > short.text.length, 'three windows have more text than one')
  const silence = await thread.recognise({ kind: 'samples', samples: new Float32Array(16_000) }, plan, forever)
  t.match(silence, { text: '', language: null, alternatives: [], durationMs: 1000 })
  t.ok((await read(2, 28, null)).text.length > 0)
})

t.test('a cancelled recording ends early', async t => {
  const thread = new WhisperThread()
  const controller = new AbortController()
  const long = { kind: 'samples', samples: samples(600) } as const
  const pending = thread.recognise(long, { ...plan, voice: null }, controller.signal)
  const waiting = thread.recognise(long, { ...plan, voice: null }, controller.signal)
  setTimeout(() => controller.abort(new Error('enough')), 50)
  await t.rejects(pending, { message: 'enough' })
  await t.rejects(waiting, { message: 'enough' })
  t.ok((await thread.recognise({ kind: 'samples', samples: tones() }, plan, forever)).text.length > 0)
  t.throws(() => thread.recognise(long, plan, AbortSignal.abort(new Error('too late'))), { message: 'too late' })
  const last = thread.recognise(long, { ...plan, voice: null }, forever).catch((error: Error) => error)
  await thread.close()
  t.match(await last, { code: 'SPC_RECOGNISER_FAILED' }, 'closing ends recordings in progress')
})

t.test('a thread that crashes is replaced', async t => {
  const script = join(t.testdir(), 'dying.cjs')
  writeFileSync(
    script,
    `const { parentPort } = require('node:worker_threads')
     parentPort.on('message', ({ id, recording }) => {
       if (recording.samples.length === 0) process.exit(3)
       if (recording.samples.length === 1) throw new Error('broken')
       parentPort.postMessage({ id, result: { text: 'fine' } })
     })`
  )
  const thread = new WhisperThread(pathToFileURL(script))
  const recognise = (length: number) =>
    thread.recognise({ kind: 'samples', samples: new Float32Array(length) }, plan, forever)
  await t.rejects(recognise(0), { code: 'SPC_RECOGNISER_FAILED', message: /ended/ })
  await t.rejects(recognise(1), { code: 'SPC_RECOGNISER_FAILED', message: /broken/ })
  t.match(await recognise(2), { text: 'fine' })
})

t.test('a model stays loaded across a reload, until its files change', async t => {
  const model = t.testdir()
  cpSync(MODEL, model, { recursive: true })
  const world = await openWorld({ language: 'en', model })
  t.teardown(() => world.close())
  const transcribe = () => world.post('/api/audio/transcribe', { path: 'tones.wav' })
  t.match(await transcribe(), { status: 200 })
  await world.reload()
  const status = (await (await fetch(world.url('/api/audio/status'))).json()) as { candle: { inference_note: string } }
  t.match(status.candle.inference_note, /on cpu/, 'the thread survives the reload of its plugin')
  t.equal((await transcribe()).status, 200)
  writeFileSync(join(model, 'generation_config.json'), '{}')
  t.match(await transcribe(), { status: 200 }, 'the changed config.json is valid again')
  writeFileSync(join(model, 'tokenizer.json'), '[')
  t.match(await transcribe(), { status: 503, body: { error: 'model_invalid', message: /tokenizer\.json/ } })
})

t.test('recordings beyond the limit are rejected', async t => {
  const world = await openWorld({ max_waiting: 1, vad: 'off' })
  t.teardown(() => world.close())
  const { recogniser } = world
  const controller = new AbortController()
  const source = { kind: 'samples', samples: samples(300) } as const
  const pending = [1, 2].map(() =>
    recogniser.transcribe(source, { signal: controller.signal }).catch((error: Error) => error)
  )
  t.match(await Promise.race(pending), { code: 'SPC_BUSY', status: 503 })
  controller.abort(new Error('enough'))
  t.ok((await Promise.all(pending)).some(error => (error as Error).message === 'enough'))
})
