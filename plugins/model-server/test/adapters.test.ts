import { cpSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LoadedModel } from '@svc/contracts'
import engine from '@svc/plugin-inference-onnx'
import t, { type Test } from 'tap'
import modelServer from '#plugin'
import { ConfiguredAdapters, type ConfiguredNames } from '#root'
import { openServer } from './open-server.ts'

const FIXTURES = fileURLToPath(new URL('../../inference-onnx/test/fixtures/', import.meta.url))
const PEFT = join(FIXTURES, 'peft')
const prompt = 'abcabc'

/** Serves a tiny random model with the real engine, in a project with two adapters. */
async function open(t: Test, settings: object = {}) {
  const model = join(FIXTURES, 'llama-tiny-bf16')
  const { kernel, url, json, ready } = await openServer(
    t,
    [engine],
    { model, model_name: 'tiny', slots: 3, ...settings },
    { 'inference-onnx': { threads: 1 } }
  )
  const project = kernel.root
  cpSync(PEFT, join(project, 'adapters'), { recursive: true })
  await ready()
  const generate = async (model: string) => {
    const options = { num_predict: 12, temperature: 0 }
    return (await json('/api/generate', { model, prompt, raw: true, stream: false, options })).body.response as string
  }
  return { project, url, json, generate, call: kernel.callById, replace: kernel.replace }
}

t.test('lists adapters of the settings; requests select one by the model name', async t => {
  const { json, generate, url } = await open(t, {
    adapters: { one: join(PEFT, 'patterns'), two: join(PEFT, 'all-linear') }
  })
  const names = ['tiny', 'tiny:one', 'tiny:two']
  const { models } = (await json('/api/tags')).body
  t.same(
    models.map(({ name }: { name: string }) => name),
    names
  )
  t.equal(new Set(models.map(({ digest }: { digest: string }) => digest)).size, 3)
  t.equal(models[1].details.parent_model, 'tiny')
  t.same(
    (await json('/v1/models')).body.data.map(({ id }: { id: string }) => id),
    names
  )
  t.match((await json('/v1/models/tiny:two')).body, { id: 'tiny:two', parent: 'tiny' })
  t.match((await json('/api/show', { model: 'tiny:one' })).body.model_info, { 'adapter.lora.rank': 4 })
  const answers = [await generate('tiny'), await generate('tiny:one'), await generate('tiny:two')]
  t.equal(new Set(answers).size, 3, 'model and adapters answer differently')
  t.same(await Promise.all(['tiny:latest', ...names.slice(1)].map(generate)), answers)
  const chat = { model: 'tiny:one', messages: [{ role: 'user', content: 'a' }], max_tokens: 4 }
  t.equal((await json('/v1/chat/completions', chat)).body.model, 'tiny:one')
  t.equal((await json('/v1/completions', { model: 'tiny:two', prompt, max_tokens: 4 })).body.model, 'tiny:two')
  const metrics = await (await fetch(`${url}/metrics`)).text()
  t.match(metrics, 'svc_model_requests_total{model="tiny",adapter="one",outcome="length"}')
  t.match(metrics, 'svc_model_requests_total{model="tiny",adapter="merged",outcome="length"}')
})

t.test('an unknown adapter returns 404 in the format of each API', async t => {
  const { json } = await open(t, { adapters: { one: join(PEFT, 'patterns') } })
  const message = "model 'tiny:nope' not found; this server has 'tiny', 'tiny:one'"
  const messages = [{ role: 'user', content: 'a' }]
  for (const [path, body] of [
    ['/api/generate', { model: 'tiny:nope', prompt }],
    ['/api/chat', { model: 'tiny:nope', messages }],
    ['/api/show', { model: 'tiny:nope' }]
  ] as const) {
    t.same(await json(path, body), { status: 404, body: { error: message } }, path)
  }
  for (const [path, asked] of [
    ['/v1/chat/completions', { messages }],
    ['/v1/completions', { prompt }]
  ] as const) {
    const { status, body } = await json(path, { model: 'tiny:nope', ...asked })
    t.match({ status, body }, { status: 404, body: { error: { message, code: 'model_not_found' } } }, path)
  }
})

t.test('operations add and remove adapters while answers are generated', async t => {
  const { json, generate, call, url } = await open(t)
  t.same((await call('model.adapters.list', {})) as object, { adapters: [] })
  const before = await generate('tiny')
  const added = await call('model.adapters.add', { name: 'hot', directory: 'adapters/patterns' })
  t.match(added, { name: 'hot', model: 'tiny:hot', rank: 4, alpha: 6 })
  const adapted = await generate('tiny:hot')
  t.not(adapted, before)
  t.equal(await generate('tiny'), before)
  await t.rejects(call('model.adapters.add', { name: 'hot', directory: 'adapters/patterns' }), {
    code: 'MSV_ADAPTER_EXISTS'
  })
  const options = { num_predict: 12, temperature: 0 }
  const body = JSON.stringify({ model: 'tiny:hot', prompt, raw: true, options })
  // fetch resolves once the first token was sent.
  const running = await fetch(`${url}/api/generate`, { method: 'POST', body })
  t.same(await call('model.adapters.remove', { name: 'hot' }), { name: 'hot', removed: true })
  const rows = (await running.text()).trim().split('\n')
  t.equal(rows.map(row => JSON.parse(row).response).join(''), adapted, 'a running answer finishes with its adapter')
  await t.rejects(call('model.adapters.remove', { name: 'hot' }), { code: 'MSV_ADAPTER_UNKNOWN' })
  t.equal((await json('/api/generate', { model: 'tiny:hot', prompt })).status, 404)
  t.equal(await generate('tiny'), before)
})

t.test('rejects adapter folders outside the project and the roots, even through a link', async t => {
  const { call, project } = await open(t)
  const outside = join(PEFT, 'patterns')
  symlinkSync(outside, join(project, 'link'))
  for (const directory of [outside, 'link', '..', '/nowhere']) {
    await t.rejects(call('model.adapters.add', { name: 'a', directory }), { code: 'MSV_ADAPTER_DIRECTORY' }, directory)
  }
  await t.rejects(call('model.adapters.add', { name: 'a', directory: 'nowhere' }), { code: 'MSV_ADAPTER_INVALID' })
  await t.rejects(call('model.adapters.add', { name: 'a', directory: 'adapters/joined' }), {
    code: 'MSV_ADAPTER_INVALID'
  })
  const { call: freely } = await open(t, { adapter_roots: [PEFT] })
  t.match(await freely('model.adapters.add', { name: 'a', directory: outside }), { name: 'a' })
})

t.test('an invalid adapter in the settings fails the load of the model, with the reason', async t => {
  const model = join(FIXTURES, 'llama-tiny-bf16')
  const { kernel } = await openServer(t, [engine], { model, adapters: { bad: 'nowhere' } })
  await t.rejects(kernel.callById('model.generate', { prompt: 'a' }), {
    code: 'MSV_MODEL_FAILED',
    message: /nowhere: it contains neither/
  })
})

t.test('adapters added by operations survive a reload of the plugin, like the model', async t => {
  const { call, generate, replace } = await open(t, { adapters: { one: join(PEFT, 'all-linear') } })
  await call('model.adapters.add', { name: 'hot', directory: 'adapters/patterns' })
  const before = await Promise.all(['tiny:one', 'tiny:hot'].map(generate))
  await replace(modelServer)
  const { adapters } = (await call('model.adapters.list', {})) as { adapters: { name: string }[] }
  t.same(
    adapters.map(({ name }) => name),
    ['one', 'hot']
  )
  t.same(await Promise.all(['tiny:one', 'tiny:hot'].map(generate)), before)
})

t.test('a reload after an unload adds all adapters again, unless their folder is missing', async t => {
  const { json, call, generate, project } = await open(t, { adapters: { one: join(PEFT, 'all-linear') } })
  await call('model.adapters.add', { name: 'hot', directory: 'adapters/patterns' })
  await call('model.adapters.add', { name: 'lost', directory: 'adapters/all-linear' })
  const names = ['tiny', 'tiny:one', 'tiny:hot']
  const before = await Promise.all(names.map(generate))
  t.equal(new Set(before).size, 3)
  t.match((await json('/api/generate', { model: 'tiny', keep_alive: 0, stream: false })).body, {
    done_reason: 'unload'
  })
  const tags = async () => (await json('/api/tags')).body.models.map(({ name }: { name: string }) => name)
  t.same(await tags(), [...names, 'tiny:lost'])
  rmSync(join(project, 'adapters/all-linear'), { recursive: true })
  t.same(await Promise.all(names.map(generate)), before)
  t.same(await tags(), names)
  t.equal((await json('/api/generate', { model: 'tiny:lost', prompt })).status, 404)
  await json('/api/generate', { model: 'tiny', keep_alive: 0, stream: false })
  t.match(await call('model.adapters.remove', { name: 'hot' }), { removed: true })
  t.same(await tags(), ['tiny', 'tiny:one'])
})

t.test('changed settings add, replace and remove configured adapters, and keep those of callers', async t => {
  const there = new Map([['caller', '/somewhere']])
  const done: string[] = []
  const adapters = {
    list: () => [...there].map(([name, directory]) => ({ name, directory })),
    add: async ({ name, directory }: { name: string; directory: string }) => {
      done.push(`add ${name}`)
      there.set(name, directory)
    },
    remove: async (name: string) => {
      done.push(`remove ${name}`)
      there.delete(name)
    }
  }
  const model = { adapters } as unknown as LoadedModel
  const names: ConfiguredNames = new Set()
  const load = async (settings: Record<string, string>) => {
    const configured = new ConfiguredAdapters(settings, '/project')
    await configured.add(model, names)
    await configured.removeOthers(model, names)
    return done.splice(0)
  }
  t.same(await load({ a: 'a', b: 'b' }), ['add a', 'add b'])
  t.same(await load({ a: 'a', b: 'b' }), [])
  t.same(await load({ a: 'other' }), ['remove a', 'add a', 'remove b'])
  t.same(
    [...there],
    [
      ['caller', '/somewhere'],
      ['a', '/project/other']
    ]
  )
})
