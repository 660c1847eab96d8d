import { copyFileSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as ort from 'onnxruntime-node'
import t from 'tap'
import {
  DEFAULT_THRESHOLDS,
  findModel,
  isMultilingual,
  LogMel,
  type ModelFiles,
  readModelConfig,
  Sessions,
  Whisper
} from '#whisper'
import { FIXTURES, fixtureFloats, fixtureJson, tones } from './fixtures.ts'

interface Expected {
  readonly vocabulary: number
  readonly steps: number
  readonly encoder: { readonly shape: readonly number[]; readonly beginning: readonly number[] }
  readonly languages: Readonly<Record<string, number>>
  readonly generated: readonly number[]
  readonly cases: readonly {
    readonly language: string
    readonly task: 'transcribe' | 'translate'
    readonly prompt: readonly number[]
    readonly tokens: readonly number[]
    readonly text: string
    readonly steps: number
    readonly offset: number
  }[]
}

const expected = fixtureJson<Expected>('expected.json')
const MODEL = join(FIXTURES, 'model')
const none = { phrases: [], strength: 0, maxTokens: 0 }
const options = { task: 'transcribe', bias: none, thresholds: DEFAULT_THRESHOLDS, check() {} } as const

async function filesIn(folder: string): Promise<ModelFiles> {
  const found = await findModel(folder)
  if (!found.complete) throw new Error(`lacks ${found.missing}`)
  return found.files
}

/** Model in the layout of older exports: two decoder graphs, next to the other files. */
function separateModel(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-'))
  cpSync(MODEL, folder, { recursive: true })
  rmSync(join(folder, 'onnx/decoder_model_merged.onnx'))
  for (const name of ['decoder_model.onnx', 'decoder_with_past_model.onnx'])
    copyFileSync(join(FIXTURES, 'separate', name), join(folder, name))
  return folder
}

t.test('hidden states and logits of every step equal those of PyTorch', async t => {
  const separate = separateModel()
  t.teardown(() => rmSync(separate, { recursive: true }))
  const logits = fixtureFloats('expected.bin')
  for (const folder of [MODEL, separate]) {
    const files = await filesIn(folder)
    t.equal(files.decoder.kind, folder === MODEL ? 'merged' : 'separate')
    const config = await readModelConfig(files)
    const sessions = await Sessions.open(ort, files, config, { threads: 1, cuda: false })
    const encoded = await sessions.encode(new LogMel(config.mel).features(tones()))
    t.same(encoded.dims, expected.encoder.shape)
    const states = encoded.data as Float32Array
    t.ok(worst(states, expected.encoder.beginning) < 1e-3, 'hidden states')
    const step = await sessions.decode(encoded, [config.start], null)
    for (const [code, value] of Object.entries(expected.languages))
      t.ok(Math.abs(step.logits[config.languages.get(code)!]! - value) < 1e-3, `language ${code}`)
    for (const { prompt, tokens, offset, steps, language } of expected.cases) {
      let step = await sessions.decode(encoded, prompt, null)
      let far = 0
      for (let at = 0; at < steps; at++) {
        const from = offset + at * expected.vocabulary
        const row = step.logits.slice(-expected.vocabulary)
        far = Math.max(far, worst(row, logits.subarray(from, from + expected.vocabulary)))
        if (at + 1 < steps) step = await sessions.decode(encoded, [tokens[at]!], step.cache)
      }
      t.ok(far < 1e-3, `${language}: ${steps} steps differ by at worstError ${far}`)
    }
    await sessions.close()
  }
})

t.test('the text equals the reference', async t => {
  const whisper = await Whisper.load(ort, await filesIn(MODEL), { threads: 1, cuda: false })
  t.teardown(() => whisper.close())
  t.equal(whisper.device, 'cpu')
  t.same(expected.generated, expected.cases[0]!.tokens, 'the reference data is consistent')
  for (const { language, task, text } of expected.cases) {
    const read = await whisper.read(tones(), { ...options, language, task })
    t.equal(read.language, language)
    t.ok(read.text.startsWith(text.trim()), `${read.text} begins with ${text}`)
    t.same(read.alternatives, [])
  }
  const [argmax] = Object.entries(expected.languages).sort(([, a], [, b]) => b - a)[0]!
  t.equal((await whisper.read(tones(), { ...options, language: null })).language, argmax)
  t.equal((await whisper.read(tones(), { ...options, language: 'xx' })).language, argmax)
  t.equal((await whisper.read(tones(), { ...options, language: 'de-at' })).language, 'de')
})

t.test('a doubtful reading is retried at other temperatures, deterministically', async t => {
  const whisper = await Whisper.load(ort, await filesIn(MODEL), { threads: 1, cuda: false })
  t.teardown(() => whisper.close())
  const strict = { ...options, language: 'en', thresholds: { ...DEFAULT_THRESHOLDS, averageLogProbability: 0.1 } }
  const first = await whisper.read(tones(), strict)
  t.ok(first.alternatives.length > 0, `${first.alternatives.length} others`)
  t.notOk(first.alternatives.includes(first.text))
  t.same(await whisper.read(tones(), strict), first)
  const silent = { ...strict, thresholds: { ...strict.thresholds, noSpeech: -1 } }
  t.equal((await whisper.read(tones(), silent)).text, '', 'silence gives no text')
})

t.test('words of a lexicon get higher probabilities', async t => {
  const whisper = await Whisper.load(ort, await filesIn(MODEL), { threads: 1, cuda: false })
  t.teardown(() => whisper.close())
  const read = async (strength: number, maxTokens: number) =>
    (await whisper.read(tones(), { ...options, language: 'en', bias: { phrases: ['wxyz'], strength, maxTokens } })).text
  t.match(await read(1000, 256), /wxyz/)
  t.equal(await read(0, 256), await read(1000, 1), 'phrases beyond the limit are ignored')
})

t.test('decoding can be cancelled', async t => {
  const whisper = await Whisper.load(ort, await filesIn(MODEL), { threads: 1, cuda: false })
  t.teardown(() => whisper.close())
  let calls = 0
  const check = () => {
    if (++calls > 5) throw new Error('enough')
  }
  await t.rejects(whisper.read(tones(), { ...options, language: 'en', check }), { message: 'enough' })
  t.equal(calls, 6)
})

t.test('errors name missing and invalid files', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-speech-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  cpSync(MODEL, folder, { recursive: true })
  t.ok(await isMultilingual(await filesIn(folder)))
  rmSync(join(folder, 'onnx/encoder_model.onnx'))
  rmSync(join(folder, 'tokenizer.json'))
  t.match(await findModel(folder), { complete: false, missing: ['tokenizer.json', 'onnx/encoder_model.onnx'] })
  t.match(await findModel(join(folder, 'nowhere')), { complete: false, missing: { length: 6 } })
  cpSync(MODEL, folder, { recursive: true })
  writeFileSync(join(folder, 'generation_config.json'), '{"lang_to_id": {"<|en|>": "x"}, "decoder_start_token_id": 1}')
  const bad = await filesIn(folder)
  await t.rejects(readModelConfig(bad), { code: 'SPC_MODEL_INVALID', message: /lang_to_id/ })
  writeFileSync(join(folder, 'generation_config.json'), '{')
  await t.rejects(readModelConfig(bad), { code: 'SPC_MODEL_INVALID', message: /generation_config/ })
})

function worst(made: ArrayLike<number>, wanted: ArrayLike<number>): number {
  let worstError = 0
  for (let at = 0; at < wanted.length; at++) worstError = Math.max(worstError, Math.abs(made[at]! - wanted[at]!))
  return worstError
}
