import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import engine from '@svc/plugin-inference-onnx'
import t, { type Test } from 'tap'
import modelServer from '#plugin'
import { modelGenerate, modelLoad, modelStats, modelUnload } from '#root'
import { openServer } from './open-server.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'

const BUNDLED = fileURLToPath(new URL('../models/vox-tiny', import.meta.url))

async function open(t: Test, settings: object = {}, toy: ToyOptions = {}) {
  const model = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const { kernel, json, port } = await openServer(t, [toyPlugin(new ToyEngine(toy))], { model, ...settings })
  const stats = async () => (await kernel.call(modelStats, {})).models[0]!
  const generate = (fields: object = {}) => json('/api/generate', { prompt: 'hello', stream: false, ...fields })
  return { kernel, port, stats, generate }
}

t.test('statistics count the requests and tokens of every API', async t => {
  const { kernel, stats, generate } = await open(t, {}, { cachedTokens: 2 })
  t.match(await stats(), { name: 'run', requests: 0, completion_tokens: 0, tokens_per_second: 0 })
  await generate()
  await generate({ options: { num_predict: 2 } })
  await generate({ prompt: 'x'.repeat(9000) })
  await kernel.call(modelGenerate, { prompt: 'hi' })
  const after = await stats()
  t.match(after, { requests: 4, outcomes: { stop: 2, length: 1, refused: 1 }, completion_tokens: 9, cached_tokens: 6 })
  t.ok(after.tokens_per_second > 0)
  t.equal(after.history.length, 60)
  const sum = after.history.reduce((total, point) => total + point.tokens_per_second, 0)
  t.equal(sum, 9, 'the history holds the tokens of the last minute')
  for (const field of ['first_token_ms', 'queue_ms', 'prefill_ms', 'decode_ms'] as const) {
    const measured = after[field]
    t.ok(measured !== undefined && measured.p50 >= 0 && measured.p95 >= measured.p50, field)
  }
  await kernel.replace(modelServer)
  t.equal((await stats()).requests, 4, 'a reload keeps the counters')
  t.same(await kernel.call(modelStats, { model: 'other' }), { models: [] })
})

t.test('statistics show running and waiting requests', async t => {
  let proceed = () => {}
  const held = new Promise<void>(resolve => (proceed = resolve))
  const { stats, generate } = await open(t, { slots: 1 }, { beforeToken: () => held })
  const answers = [generate(), generate()]
  while ((await stats()).queue !== 1) await setImmediate()
  t.match(await stats(), { running: 1, queue: 1, slots: 1 })
  proceed()
  await Promise.all(answers)
  const after = await stats()
  t.match(after, { running: 0, queue: 0, requests: 2 })
  t.ok(after.history.some(point => point.running === 1))
})

t.test('a model can be unloaded and loaded', async t => {
  const { kernel, stats, generate } = await open(t)
  await generate()
  t.ok((await stats()).memory_bytes > 0)
  t.match(await kernel.call(modelUnload, {}), { status: 'unloaded' })
  t.match(await stats(), { status: 'unloaded', memory_bytes: 0, slots: 0 })
  t.match(await kernel.call(modelLoad, { model: 'run' }), { status: 'ready' })
  t.ok((await stats()).memory_bytes > 0)
  await t.rejects(kernel.call(modelLoad, { model: 'other' }), { code: 'MSV_MODEL_UNKNOWN' })
})

t.test('requests, loads and adapters are announced to watchers', async t => {
  const { kernel, port, generate } = await open(t)
  const { topics } = port()
  await generate()
  const before = topics.version('model-server.stats')
  await generate()
  t.ok(topics.version('model-server.stats') > before)
  const models = topics.version('model-server.models')
  await kernel.call(modelUnload, {})
  t.ok(topics.version('model-server.models') > models)
})

t.test('the bundled model reports its memory, cache and speed', async t => {
  const { kernel, ready } = await openServer(t, [engine], { model: BUNDLED, slots: 2 })
  await ready()
  const stats = async () => (await kernel.call(modelStats, {})).models[0]!
  const before = await stats()
  t.match(before, { name: 'vox-tiny', status: 'ready', device: 'cpu', slots: 2, requests: 0 })
  t.ok(before.weight_bytes > 1_000_000 && before.memory_bytes === before.weight_bytes + before.cache_bytes)
  await kernel.call(modelGenerate, { prompt: 'a table of customers', max_tokens: 12 })
  const after = await stats()
  t.equal(after.requests, 1)
  t.ok(after.completion_tokens > 0 && after.completion_tokens <= 12)
  t.ok(after.cache !== undefined && after.cache.used > 0 && after.cache.used <= after.cache.positions)
  t.ok(after.decode_ms !== undefined && after.decode_ms.p50 > 0)
})
