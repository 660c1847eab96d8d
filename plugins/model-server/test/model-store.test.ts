import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { clientsOf, refusal } from './clients.ts'
import { answer, type Hub, hangAfter, openHub } from './model-hub.ts'
import { openServer } from './open-server.ts'
import { ToyEngine } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'
import { until } from './until.ts'

async function openStore(t: Test) {
  const root = t.testdir({ first: { 'config.json': '{}' } })
  const hub: Hub = await openHub(t)
  hub.files.set('config.json', Buffer.from('{}'))
  hub.files.set('model.safetensors', Buffer.alloc(200_000, 7))
  hub.layer = Buffer.alloc(1_000, 8)
  const engine = new ToyEngine()
  const server = await openServer(t, [toyPlugin(engine)], {
    model: join(root, 'first'),
    model_name: 'toy',
    models_folder: join(root, 'models'),
    huggingface_url: hub.url.href,
    ollama_registry_url: hub.url.href
  })
  await server.ready()
  const { ollama } = clientsOf(server.url)
  const names = async () => (await ollama.list()).models.map(({ name }) => name)
  const call = (id: string, input: object = {}, options: object = {}) =>
    server.kernel.callById(id, input, options) as Promise<Record<string, any>>
  const ask = async (model: string) => (await ollama.generate({ model, prompt: 'hello' })).response
  return { ...server, hub, engine, ollama, names, call, ask, root }
}

t.test('the client of Ollama pulls, uses, copies and deletes models', async t => {
  const { ollama, names, ask, hub, root, json } = await openStore(t)
  const rows = []
  for await (const row of await ollama.pull({ model: 'tiny', stream: true })) rows.push(row)
  t.match(rows[0], { status: 'pulling manifest' })
  t.match(
    rows.find(({ completed }) => completed === 1_000),
    { status: /^pulling [0-9a-f]{12}$/, digest: /^sha256:/, total: 1_000 }
  )
  t.same(rows.at(-1), { status: 'success' })
  t.same(await ollama.pull({ model: 'org/model' }), { status: 'success' })
  t.same(await names(), ['toy', 'tiny', 'org/model'])
  t.equal(await ask('tiny'), 'hello')
  await ollama.copy({ source: 'tiny', destination: 'small' })
  t.equal(await ask('small:latest'), 'hello')
  await ollama.delete({ model: 'tiny' })
  t.equal(await ask('small'), 'hello', 'the copy keeps the files')
  await ollama.delete({ model: 'small' })
  await ollama.delete({ model: 'org/model:latest' })
  t.same(await names(), ['toy'])
  t.same(readdirSync(join(root, 'models')), ['.unfinished'], 'the files are deleted')
  for (const [request, status] of [
    [() => ollama.delete({ model: 'none' }), 404],
    [() => ollama.delete({ model: 'toy' }), 409],
    [() => ollama.copy({ source: 'none', destination: 'x' }), 404],
    [() => ollama.copy({ source: 'toy', destination: 'toy' }), 409],
    [() => ollama.copy({ source: 'toy', destination: '../x' }), 400],
    [() => ollama.pull({ model: 'toy' }), 409],
    [() => ollama.pull({ model: hub.url.href }), 400],
    [() => ollama.pull({ model: '/etc' }), 400],
    [() => ollama.pull({ model: 'tiny', insecure: true }), 400],
    [() => ollama.pull({ model: 'other' }), 404]
  ] as const) {
    t.equal((await refusal(request()))?.status_code, status)
  }
  t.equal((await json('/api/push', {})).status, 501)
})

t.test('the files of a pulled model stay while the settings use them', async t => {
  const { call, ollama, root } = await openStore(t)
  const { path } = await call('model.pull', { model: 'org/model' })
  const server = await openServer(t, [toyPlugin(new ToyEngine())], { model: path, models_folder: join(root, 'models') })
  await server.ready()
  const other = clientsOf(server.url).ollama
  const { models } = await other.list()
  await other.copy({ source: models[0]?.name ?? '', destination: 'copy' })
  await other.delete({ model: 'copy' })
  t.ok(existsSync(join(path, 'model.safetensors')))
  await ollama.delete({ model: 'org/model' })
  t.notOk(existsSync(path), 'another server decides for itself')
})

t.test('a failure in the middle of a streamed pull is its last row', async t => {
  const { ollama, hub, names } = await openStore(t)
  hub.faults.push(null, answer(404))
  const pulling = (async () => {
    for await (const _ of await ollama.pull({ model: 'org/model', stream: true }));
  })()
  await t.rejects(pulling, { message: /model\.safetensors does not exist/ })
  t.same(await names(), ['toy'])
})

t.test('a client that disconnects ends its pull', async t => {
  const { url, hub, ollama, names } = await openStore(t)
  hub.faults.push(null, hangAfter(1_000))
  const controller = new AbortController()
  const body = JSON.stringify({ model: 'org/model' })
  const pulling = fetch(`${url}/api/pull`, { method: 'POST', body, signal: controller.signal }).then(reply =>
    reply.text()
  )
  await until(() => hub.requests.length === 2)
  controller.abort()
  await t.rejects(pulling)
  let refused = await refusal(ollama.pull({ model: 'org/model' }))
  // The first pull ends when the server notices the disconnect.
  while (refused?.status_code === 409) refused = await refusal(ollama.pull({ model: 'org/model' }))
  t.equal(refused, null)
  t.same(await names(), ['toy', 'org/model'])
})

t.test('operations pull a model with progress, run it, and remove it with its files', async t => {
  const { call, hub, names } = await openStore(t)
  const events: { status: string; text: string }[] = []
  const onEvent = (event: unknown) => void events.push(event as { status: string; text: string })
  const pulled = await call('model.pull', { model: 'hf.co/org/model', as: 'mine' }, { onEvent })
  t.match(pulled, { name: 'mine', bytes: 200_000, changed: true })
  t.match(events.at(-1), { status: 'done', completed: 200_002, total: 200_002 })
  t.match(await call('model.run', { model: 'mine', prompt: 'hi' }), { model: 'mine', text: 'hi' })
  t.match(await call('model.run', { model: 'mine' }), { text: /'mine' is ready/ })
  t.match(await call('model.catalogue'), { models: [{ source: 'primary' }, { name: 'mine', source: 'pulled' }] })
  hub.files.set('config.json', Buffer.from('{"model_type":"qwen2"}'))
  t.match(await call('model.pull', { model: 'hf.co/org/model', as: 'mine' }), { changed: true })
  t.match(await call('model.run', { model: 'mine', prompt: 'again' }), { text: 'again' })
  t.match(await call('model.remove', { name: 'mine' }), { deleted: true })
  t.notOk(existsSync(pulled.path))
  t.same(await names(), ['toy'])
  await t.rejects(call('model.pull', { model: 'org/model', as: 'toy' }), { code: 'MSV_MODEL_EXISTS' })
})
