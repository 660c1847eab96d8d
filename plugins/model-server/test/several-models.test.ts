import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { clientsOf } from './clients.ts'
import { openServer } from './open-server.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'
import { until } from './until.ts'

/** Memory of a loaded toy model, in bytes. */
const TOY_BYTES = 12_800_000

async function openToys(t: Test, settings: object = {}, toy: ToyOptions = {}) {
  const files = () => ({ 'config.json': '{"model_type": "qwen2"}', 'model.safetensors': 'x'.repeat(1_000) })
  const root = t.testdir({ first: files(), second: files(), third: files() })
  const engine = new ToyEngine(toy)
  const server = await openServer(t, [toyPlugin(engine)], {
    model: join(root, 'first'),
    model_name: 'toy',
    models: { 'org/second:q8': join(root, 'second') },
    ...settings
  })
  await server.ready()
  const { ollama, openai } = clientsOf(server.url)
  const ask = async (model: string, prompt = model, more: object = {}) =>
    (await ollama.generate({ model, prompt, ...more })).response
  const loaded = async () => (await ollama.ps()).models.map(({ name }) => name)
  const call = (id: string, input: object = {}) => server.kernel.callById(id, input) as Promise<Record<string, any>>
  const names = async () => (await ollama.list()).models.map(({ name }) => name)
  return { ...server, root, engine, ollama, openai, ask, loaded, call, names }
}

t.test('a request loads the model it names, and both APIs list all models', async t => {
  const { ask, loaded, names, openai, engine, ollama, json, call } = await openToys(t)
  t.same(await names(), ['toy', 'org/second:q8'])
  t.match((await ollama.list()).models[1], { size: 1_000, details: { family: 'qwen2', format: 'safetensors' } })
  t.same(
    (await openai.models.list()).data.map(({ id }) => id),
    ['toy', 'org/second:q8']
  )
  t.equal((await openai.models.retrieve('org/second:q8')).id, 'org/second:q8')
  t.same(await loaded(), ['toy'], 'lists load nothing')
  t.equal(await ask('org/second:q8'), 'org/second:q8')
  t.same(await loaded(), ['toy', 'org/second:q8'])
  const chat = { model: 'org/second:q8', messages: [{ role: 'user' as const, content: 'again' }] }
  const answer = await openai.chat.completions.create(chat)
  t.match(answer, { model: 'org/second:q8', choices: [{ message: { content: 'again' } }] })
  t.equal(engine.models.length, 2)
  t.equal((await ollama.show({ model: 'org/second:q8' })).details.family, 'llama')
  t.match(await call('model.generate', { model: 'org/second:q8', prompt: 'hi' }), { text: 'hi' })
  const stats = await call('model.stats', {})
  t.same(
    stats.models.map(({ name, requests }: any) => [name, requests]),
    [
      ['toy', 0],
      ['org/second:q8', 3]
    ]
  )
  const unknown = await json('/api/generate', { model: 'org/second', prompt: 'x' })
  t.equal(unknown.status, 404)
  t.match(unknown.body.error, /this server has 'toy', 'org\/second:q8'/)
})

t.test('concurrent first requests share one load of their model', async t => {
  const { ask, engine } = await openToys(t, { slots: 4 })
  const prompts = ['one', 'two', 'three', 'four']
  t.same(await Promise.all(prompts.map(prompt => ask('org/second:q8', prompt))), prompts)
  t.equal(engine.models.length, 2)
})

t.test('commands add and remove models while the server runs', async t => {
  const { call, ask, names, root, loaded, json, engine } = await openToys(t)
  t.match(await call('model.add', { name: 'third', path: join(root, 'third') }), {
    name: 'third',
    status: 'idle',
    source: 'added',
    format: 'safetensors',
    size_bytes: 1_000
  })
  t.same(await names(), ['toy', 'org/second:q8', 'third'])
  t.equal(await ask('third:latest', 'hello'), 'hello')
  for (const [input, code] of [
    [{ name: 'third', path: join(root, 'third') }, 'MSV_MODEL_EXISTS'],
    [{ name: 'toy', path: join(root, 'third') }, 'MSV_MODEL_EXISTS'],
    [{ name: 'fourth', path: join(root, 'none') }, 'MSV_RUN_DIRECTORY'],
    [{ name: 'fourth', path: root }, 'MSV_RUN_DIRECTORY'],
    [{ name: '../fourth', path: join(root, 'third') }, 'OPR_INPUT_INVALID']
  ] as const) {
    await t.rejects(call('model.add', input), { code })
  }
  await t.rejects(call('model.remove', { name: 'toy' }), { code: 'MSV_MODEL_CONFIGURED' })
  await t.rejects(call('model.remove', { name: 'org/second:q8' }), { code: 'MSV_MODEL_CONFIGURED' })
  await t.rejects(call('model.remove', { name: 'none' }), { code: 'MSV_MODEL_UNKNOWN' })
  t.match(await call('model.remove', { name: 'third' }), { name: 'third', deleted: false })
  t.same(await names(), ['toy', 'org/second:q8'])
  await until(() => engine.models.at(-1)?.closed === true)
  t.same(await loaded(), ['toy'])
  t.equal((await json('/api/generate', { model: 'third', prompt: 'x' })).status, 404)
})

t.test('an idle model is evicted, least recently used first, if another does not fit next to it', async t => {
  const { ask, loaded, call, root } = await openToys(t, { memory_limit_bytes: 2 * TOY_BYTES + 500 })
  await call('model.add', { name: 'third', path: join(root, 'third') })
  await ask('org/second:q8')
  await ask('toy')
  await ask('third')
  t.same(await loaded(), ['toy', 'third'], 'sizes are those of the files before the first load')
  await ask('org/second:q8')
  t.same(await loaded(), ['org/second:q8', 'third'])
})

t.test('a load that does not fit names the models in use, evicts nothing, and works later', async t => {
  let go: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  let held = true
  const beforeToken = (at: number) => (held && at === 1 ? gate : undefined)
  const { ask, engine, json, loaded, call } = await openToys(t, { memory_limit_bytes: TOY_BYTES }, { beforeToken })
  const running = ask('toy', 'a long answer')
  await until(() => (engine.models[0]?.generated ?? 0) === 1)
  const refused = await json('/api/generate', { model: 'org/second:q8', prompt: 'x', stream: false })
  t.equal(refused.status, 503)
  t.match(refused.body.error, /'org\/second:q8' needs 0\.0 MB of the 12\.8 MB .* would have to go: 'toy' \(12\.8 MB\)/)
  await t.rejects(call('model.load', { model: 'org/second:q8' }), { code: 'MSV_MEMORY' })
  t.same(await loaded(), ['toy'])
  held = false
  go()
  t.equal(await running, 'a long answer')
  t.equal(await ask('org/second:q8', 'now'), 'now')
  t.same(await loaded(), ['org/second:q8'])
  t.equal(await ask('toy', 'back'), 'back')
})

t.test('keep_alive applies to each model', async t => {
  const { ask, loaded, ollama, engine } = await openToys(t)
  await ask('org/second:q8', 'x', { keep_alive: 0 })
  await until(() => engine.models[1]?.closed === true)
  t.same(await loaded(), ['toy'])
  await ask('org/second:q8', 'x', { keep_alive: '10m' })
  const [first, second] = (await ollama.ps()).models
  t.equal(String(first?.expires_at), '9999-12-31T23:59:59Z')
  t.ok(new Date(second?.expires_at ?? 0).getTime() < Date.now() + 660_000)
})

t.test(
  'a model whose files are broken is reported, affects no other, and is loaded once they are repaired',
  async t => {
    const { root, json, ask, names, call } = await openToys(t)
    rmSync(join(root, 'second'), { recursive: true })
    const failed = await json('/api/generate', { model: 'org/second:q8', prompt: 'x' })
    t.equal(failed.status, 503)
    t.match(failed.body.error, /'org\/second:q8' could not be loaded from .*second.* does not exist/)
    t.same(await names(), ['toy'])
    t.match((await call('model.catalogue')).models[1], {
      name: 'org/second:q8',
      status: 'failed',
      problem: /not exist/
    })
    t.equal(await ask('toy'), 'toy')
    mkdirSync(join(root, 'second'))
    writeFileSync(join(root, 'second', 'model.safetensors'), 'x')
    t.equal(await ask('org/second:q8'), 'org/second:q8')
  }
)

t.test('adapters belong to their model', async t => {
  const { root, call, ask, json } = await openToys(t, { adapter_roots: [t.testdirName] })
  const failure = await call('model.adapters.list', { model: 'org/second:q8' }).catch(({ code }) => code)
  t.equal(failure, 'MSV_ADAPTER_UNSUPPORTED')
  const add = { name: 'x', model: 'org/second:q8', directory: root }
  await t.rejects(call('model.adapters.add', add), { code: 'MSV_ADAPTER_UNSUPPORTED' })
  await t.rejects(call('model.adapters.list', { model: 'none' }), { code: 'MSV_MODEL_UNKNOWN' })
  await ask('org/second:q8')
  t.equal((await json('/api/generate', { model: 'org/second:q8:x', prompt: 'x' })).status, 404)
})

t.test(
  'changes of other processes are seen, and an invalid list is reported once and hides no configured model',
  async t => {
    const { root, names, ask, port, kernel, call } = await openToys(t)
    const folder = join(port().stateRoot, 'plugins', 'model-server')
    const file = join(folder, 'models.json')
    mkdirSync(folder, { recursive: true })
    const third = { name: 'third', path: join(root, 'third'), source: 'added', added_at: '2026-01-02T03:04:05Z' }
    writeFileSync(file, JSON.stringify({ version: 1, models: [third] }))
    t.same(await names(), ['toy', 'org/second:q8', 'third'])
    t.equal(await ask('third'), 'third')
    writeFileSync(file, '{"version": 1, "models": [{"name": "../x"}]}')
    t.same(await names(), ['toy', 'org/second:q8'])
    t.equal(await ask('toy'), 'toy')
    const logged = kernel.log.filter(
      ({ level, message }) => level === 'error' && /models\.json is invalid/.test(message)
    )
    t.equal(logged.length, 1)
    await t.rejects(call('model.add', { name: 'x', path: join(root, 'third') }), {
      code: 'MSV_CATALOGUE',
      hint: /Repair/
    })
    t.match(readFileSync(file, 'utf8'), /\.\.\/x/, 'an invalid list is never overwritten')
    rmSync(file)
    t.same(await names(), ['toy', 'org/second:q8'])
  }
)
