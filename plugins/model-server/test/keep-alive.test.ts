import t, { type Test } from 'tap'
import { clientsOf } from './clients.ts'
import { openServer } from './open-server.ts'
import { ToyEngine, type ToyOptions } from './toy-engine.ts'
import { toyPlugin } from './toy-plugin.ts'
import { until } from './until.ts'

async function openToy(t: Test, settings: object = {}, toy: ToyOptions = {}) {
  const directory = t.testdir({ run: { 'config.json': '{}' } }).concat('/run')
  const engine = new ToyEngine(toy)
  const server = await openServer(t, [toyPlugin(engine)], { model: directory, model_name: 'toy', ...settings })
  await server.ready()
  const { ollama: client } = clientsOf(server.url)
  const generate = (prompt: string, more: object = {}) => client.generate({ model: 'toy', prompt, ...more })
  const loaded = async () => (await client.ps()).models.map(({ name }) => name)
  const open = () => engine.models.filter(({ closed }) => !closed).length
  return { ...server, directory, engine, client, generate, loaded, open }
}

const NOW = { keep_alive: 0 }

t.test('an empty request with keep_alive 0 unloads the model, and the next request loads it again', async t => {
  const { client, engine, generate, loaded, open, json } = await openToy(t)
  t.same(await loaded(), ['toy'])
  t.match(await generate('', NOW), { model: 'toy', response: '', done: true, done_reason: 'unload' })
  t.same(await loaded(), [])
  t.equal(open(), 0)
  t.match(
    await client.chat({ model: 'toy', messages: [], ...NOW }),
    { done_reason: 'unload' },
    'a second unload has no effect'
  )
  t.equal(engine.models.length, 1)
  const rows = []
  for await (const row of await client.chat({ model: 'toy', messages: [], stream: true })) rows.push(row)
  t.match(rows, [{ message: { content: '' }, done: true, done_reason: 'load' }])
  t.same(await loaded(), ['toy'])
  t.equal((await generate('hello')).response, 'hello')
  await generate('', NOW)
  const chat = { model: 'toy', messages: [{ role: 'user', content: 'again' }] }
  t.equal((await json('/v1/chat/completions', chat)).body.choices[0].message.content, 'again')
  t.equal(engine.models.length, 3)
})

t.test('an unloaded model is still listed, described and ready', async t => {
  const { client, generate, json, url, kernel, engine } = await openToy(t)
  const descriptions = async () => ({
    tags: (await json('/api/tags')).body,
    show: await client.show({ model: 'toy' }),
    models: (await json('/v1/models')).body,
    model: (await json('/v1/models/toy')).body,
    version: (await json('/api/version')).body,
    adapters: await kernel.callById('model.adapters.list', {}).catch(({ code }) => code)
  })
  const before = await descriptions()
  await generate('', NOW)
  t.same(await descriptions(), before)
  t.equal((await json('/api/generate', { model: 'other', ...NOW })).status, 404)
  t.equal((await fetch(`${url}/ready`)).status, 200)
  t.match(await kernel.callById('model.list', {}), { models: [{ status: 'unloaded', device: 'cpu', context: 512 }] })
  t.equal(engine.models.length, 1, 'none of these requests loads the model')
})

t.test('concurrent requests share one load, and each reports how long it waited', async t => {
  const gate: (() => void)[] = []
  const waits = { count: 0 }
  const beforeLoaded = () => (waits.count++ === 0 ? undefined : new Promise<void>(resolve => void gate.push(resolve)))
  const { engine, generate, loaded } = await openToy(t, { slots: 4 }, { beforeLoaded })
  await generate('', NOW)
  const prompts = ['one', 'two', 'three', 'four']
  const answers = Promise.all(prompts.map(prompt => generate(prompt)))
  await until(() => gate.length > 0)
  t.same(await loaded(), [])
  gate[0]?.()
  for (const [at, { response, load_duration, total_duration }] of (await answers).entries()) {
    t.equal(response, prompts[at] as string)
    t.ok(load_duration > 0 && load_duration <= total_duration)
  }
  t.equal(engine.models.length, 2)
  t.equal((await generate('five')).load_duration, 0)
})

t.test('the model is unloaded after its idle time', async t => {
  const { generate, loaded, open, client } = await openToy(t, { keep_alive: '1h' })
  const left = async () => new Date((await client.ps()).models[0]?.expires_at ?? 0).getTime() - Date.now()
  t.ok(Math.abs((await left()) - 3_600_000) < 60_000, 'the setting applies')
  await generate('hello', { keep_alive: '10m' })
  t.ok(Math.abs((await left()) - 600_000) < 60_000, 'the request overrides the setting')
  await generate('hello', { keep_alive: -1 })
  t.match((await client.ps()).models, [{ expires_at: '9999-12-31T23:59:59Z' }])
  t.equal((await generate('hello', { keep_alive: '1ms' })).response, 'hello')
  await until(() => open() === 0)
  t.same(await loaded(), [])
  t.equal((await generate('hello', NOW)).response, 'hello')
  await until(() => open() === 0)
})

t.test('a running answer finishes even if another request unloads the model', async t => {
  let go: () => void = () => undefined
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const { generate, client, open, engine } = await openToy(t, {}, { beforeToken: at => (at === 2 ? gate : undefined) })
  const rows: string[] = []
  const reading = (async () => {
    const stream = await client.generate({ model: 'toy', prompt: 'a long answer', stream: true })
    for await (const { response } of stream) rows.push(response ?? '')
  })()
  await until(() => (engine.models[0]?.generated ?? 0) === 2)
  t.match(await generate('', NOW), { done_reason: 'unload' })
  t.equal(open(), 1)
  go()
  await reading
  t.equal(rows.join(''), 'a long answer')
  await until(() => open() === 0)
})

t.test('a disconnect releases the model', async t => {
  const beforeToken = (_: number, signal: AbortSignal | undefined) =>
    new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve(), { once: true }))
  const { url, open, engine } = await openToy(t, { keep_alive: '0' }, { beforeToken })
  const controller = new AbortController()
  const asking = fetch(`${url}/api/generate`, {
    method: 'POST',
    body: JSON.stringify({ model: 'toy', prompt: 'x' }),
    signal: controller.signal
  })
  await until(() => engine.models.at(-1)?.capacity().active === 1)
  t.equal(open(), 1)
  controller.abort()
  await t.rejects(asking)
  await until(() => open() === 0)
})

t.test('the request timeout includes loading the model', async t => {
  const beforeLoaded = () => new Promise<void>(resolve => setTimeout(resolve, 40))
  const { generate, json } = await openToy(t, { request_timeout_seconds: 0.02 }, { beforeLoaded })
  await generate('', NOW)
  t.equal((await json('/api/generate', { model: 'toy', prompt: 'x', stream: false })).status, 504)
  await generate('', NOW)
  const chat = { model: 'toy', messages: [{ role: 'user', content: 'x' }] }
  t.equal((await json('/v1/chat/completions', chat)).status, 504)
})

t.test('waiting requests get the error of a failed load, and the next request retries', async t => {
  let broken = false
  const beforeLoaded = () => {
    if (broken) throw new Error('no memory')
  }
  const { generate, json, url, kernel } = await openToy(t, {}, { beforeLoaded })
  await generate('', NOW)
  broken = true
  const asked = { model: 'toy', prompt: 'x', stream: false }
  const replies = await Promise.all([json('/api/generate', asked), json('/v1/completions', asked)])
  t.match(replies, [
    { status: 503, body: { error: /could not be loaded from .*: no memory/ } },
    { status: 503, body: { error: { code: 'model_failed', message: /no memory/ } } }
  ])
  const logged = kernel.log.filter(({ plugin, level }) => plugin === 'model-server' && level === 'error')
  t.equal(logged.length, 1, 'the server logs the failure once')
  t.equal((await fetch(`${url}/ready`)).status, 503)
  t.equal((await json('/api/tags')).status, 200)
  broken = false
  t.equal((await generate('back')).response, 'back')
  t.equal((await fetch(`${url}/ready`)).status, 200)
})

t.test('a reload of the plugin keeps a loaded model, and loads an unloaded one', async t => {
  const { generate, engine, kernel, open } = await openToy(t)
  await kernel.replace((await import('#plugin')).default)
  t.equal((await generate('hello')).response, 'hello')
  t.equal(engine.models.length, 1)
  await generate('', NOW)
  await kernel.replace((await import('#plugin')).default)
  t.equal((await generate('hello')).load_duration, 0)
  t.equal(engine.models.length, 2)
  await kernel.close()
  t.equal(open(), 0)
})

t.test('concurrent unloads do not affect the answers of requests', async t => {
  const { generate, client, open, engine, json } = await openToy(t, { slots: 3, queue: 1000, keep_alive: '1ms' })
  const ask = async (at: number): Promise<void> => {
    const prompt = `question ${at}`
    const keep_alive = [undefined, 0, '1ms', -1][at % 4]
    const more = keep_alive === undefined ? {} : { keep_alive }
    if (at % 7 === 0) await generate('', NOW)
    if (at % 3 === 0) {
      let text = ''
      for await (const { response } of await client.generate({ model: 'toy', prompt, stream: true, ...more })) {
        text += response
      }
      t.equal(text, prompt)
    } else if (at % 3 === 1) t.equal((await generate(prompt, more)).response, prompt)
    else {
      const chat = { model: 'toy', messages: [{ role: 'user', content: prompt }] }
      t.equal((await json('/v1/chat/completions', chat)).body.choices?.[0].message.content, prompt)
    }
  }
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    for (let round = 0; round < 15; round++) await ask(lane + 8 * round)
  })
  await Promise.all(lanes)
  t.ok(engine.models.length > 1, 'the model was unloaded in between')
  t.equal(
    engine.models.flatMap(({ ended }) => ended).every(outcome => outcome === 'stop'),
    true,
    'no answer was truncated'
  )
  await generate('', NOW)
  await until(() => open() === 0)
})
