import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { httpServer, type InferenceEngine, inferenceEngine } from '@svc/contracts'
import { openTestKernel } from '@svc/kernel/testing'
import http from '@svc/plugin-http'
import modelServer from '@svc/plugin-model-server'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { ToyEngine, type ToyOptions } from '../../plugins/model-server/test/toy-engine.ts'
import { until } from '../../plugins/model-server/test/until.ts'

let instances = 0

function enginePlugin(options: ToyOptions, engines: ToyEngine[]): Plugin {
  return definePlugin({
    name: 'toy-engine',
    provides: [inferenceEngine],
    activate(ctx) {
      const engine = new ToyEngine(options)
      engines.push(engine)
      instances += 1
      const provided: InferenceEngine = {
        name: engine.name,
        instance: String(instances),
        devices: () => engine.devices(),
        load: load => engine.load(load)
      }
      ctx.provide(inferenceEngine, provided)
    }
  })
}

interface Options extends ToyOptions {
  readonly settings?: object
  readonly withoutHttp?: boolean
}

async function open(t: Test, { settings, withoutHttp = false, ...toy }: Options = {}) {
  const engines: ToyEngine[] = []
  const handle = await openTestKernel({
    plugins: [enginePlugin(toy, engines), modelServer, ...(withoutHttp ? [] : [http])],
    settings: {
      http: { main: false },
      'model-server': {
        model: t.testdir({ run: { 'config.json': '{}' } }).concat('/run'),
        port: 0,
        temperature: 0,
        ...settings
      }
    }
  })
  t.teardown(() => handle.close())
  const url = (): string => {
    const server = handle.kernel.current.services.resolve(httpServer.id) as { addresses: { url: string }[] }
    return server.addresses[0]!.url
  }
  const generate = (prompt: string, base = url()) =>
    fetch(`${base}/api/generate`, { method: 'POST', body: JSON.stringify({ prompt, stream: false }) })
  return { ...handle, engines, url, generate, models: () => engines.flatMap(engine => engine.models) }
}

t.test('a model that loads immediately serves the first request', async t => {
  const { generate, url } = await open(t)
  const reply = await generate('hello')
  t.match(await reply.json(), { model: 'run', response: 'hello', done: true })
  t.equal((await fetch(`${url()}/ready`)).status, 200)
  t.equal((await fetch(`${url()}/health`)).status, 200)
})

t.test('requests get status 503 until a slow model is loaded', async t => {
  let go = () => {}
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const { generate, url } = await open(t, { beforeLoaded: () => gate })
  const early = await generate('hello')
  t.equal(early.status, 503)
  t.match(await early.json(), { error: /^model 'run' is loading: reading weights, 50 %$/ })
  t.equal((await fetch(`${url()}/ready`)).status, 503)
  go()
  for (let ready = false; !ready; ) ready = (await fetch(`${url()}/ready`)).status === 200
  t.equal((await generate('hello')).status, 200)
})

t.test('if a model cannot be loaded, its requests fail and other routes work', async t => {
  const { generate, url, lines } = await open(t, {
    beforeLoaded: () => {
      throw new Error('model.safetensors ends after 12 of 34 bytes')
    }
  })
  const reply = await generate('hello')
  t.equal(reply.status, 503)
  t.match(await reply.json(), { error: /could not be loaded from .*: model\.safetensors ends after 12 of 34 bytes$/ })
  t.equal((await fetch(`${url()}/ready`)).status, 503)
  t.equal((await fetch(`${url()}/health`)).status, 200)
  t.ok(lines.some(({ level, message }) => level === 'error' && /12 of 34 bytes/.test(message)))
})

t.test('the error for a missing run directory names it', async t => {
  const { generate } = await open(t, { settings: { model: '/nowhere/run' } })
  t.match(await (await generate('hello')).json(), {
    error: /run directory \/nowhere\/run cannot be read: it does not exist/
  })
})

t.test('a reload under load fails no request and loads no weights again', async t => {
  const { generate, replace, models, url } = await open(t, { settings: { slots: 4, queue: 100 } })
  const base = url()
  let reloading = true
  const statuses = new Map<number, number>()
  const client = async () => {
    while (reloading) {
      const reply = await generate('hello', base)
      t.match(await reply.json(), { response: 'hello' })
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
    }
  }
  const clients = [1, 2, 3, 4].map(client)
  for (let round = 0; round < 10; round++) await replace({ ...modelServer })
  reloading = false
  await Promise.all(clients)
  t.same([...statuses.keys()], [200])
  t.equal(models().length, 1)
  t.notOk(models()[0]?.closed)
})

t.test('a running stream ends in the instance that started it', async t => {
  let go = () => {}
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const { kernel, replace, url } = await open(t, { beforeToken: at => (at === 3 ? gate : undefined) })
  const reply = await fetch(`${url()}/api/generate`, { method: 'POST', body: JSON.stringify({ prompt: 'abcdef' }) })
  const before = kernel.current.id
  await replace({ ...modelServer })
  t.equal(kernel.current.id, before + 1)
  go()
  const rows = (await reply.text())
    .trimEnd()
    .split('\n')
    .map(row => JSON.parse(row))
  t.equal(rows.map(row => row.response).join(''), 'abcdef')
  t.match(rows.at(-1), { done: true, done_reason: 'stop' })
})

t.test('if a reload cannot load its model, the old model continues to serve', async t => {
  let broken = false
  const { generate, replace, kernel, models } = await open(t, {
    beforeLoaded: () => {
      if (broken) throw new Error('cut off')
    }
  })
  const generation = kernel.current.id
  broken = true
  const other = t.testdir({ other: { 'config.json': '[]' } })
  const activate = modelServer.activate
  const elsewhere: Plugin = {
    ...modelServer,
    activate: (ctx, deps) => {
      const config = { ...ctx.config, model: `${other}/other` }
      const patched = new Proxy(ctx, { get: (target, key) => (key === 'config' ? config : bound(target, key)) })
      return activate(patched, deps)
    }
  }
  await t.rejects(replace(elsewhere), { message: /could not be loaded from .*other: cut off/ })
  t.equal(kernel.current.id, generation)
  t.match(await (await generate('still here')).json(), { model: 'run', response: 'still here' })
  t.equal(models().length, 1)
})

t.test('a new engine loads the model again and the old weights are released', async t => {
  const { generate, replace, engines, models } = await open(t)
  await replace(enginePlugin({}, engines))
  t.equal(models().length, 2)
  t.match(await (await generate('hello')).json(), { response: 'hello' })
  await until(() => models()[0]?.closed === true)
  t.notOk(models()[1]?.closed)
})

t.test('a shutdown waits for running streams, then closes the model', async t => {
  let go = () => {}
  const gate = new Promise<void>(resolve => {
    go = resolve
  })
  const { close, models, url } = await open(t, { beforeToken: at => (at === 3 ? gate : undefined) })
  const call = request(`${url()}/api/generate`, { method: 'POST' }).end(JSON.stringify({ prompt: 'abcdef' }))
  const [reply] = (await once(call, 'response')) as [IncomingMessage]
  const closing = close()
  t.notOk(models()[0]?.closed)
  go()
  const rows = (await text(reply)).trimEnd().split('\n')
  t.match(JSON.parse(rows.at(-1) ?? ''), { done: true, done_reason: 'stop', eval_count: 7 })
  await closing
  t.ok(models()[0]?.closed)
})

t.test('without an HTTP server the model is loaded at the first call', async t => {
  const { kernel, models } = await open(t, { withoutHttp: true })
  const call = { surface: 'internal', principal: { id: 'local', role: 'admin', scopes: ['*'] } } as const
  t.match(await kernel.invoke('model.list', {}, call), { models: [{ name: 'run', status: 'idle' }] })
  t.equal(models().length, 0)
  const pieces: unknown[] = []
  const answer = await kernel.invoke(
    'model.generate',
    { prompt: 'Grüße 🦊', temperature: 0 },
    { ...call, onEvent: event => pieces.push(event) }
  )
  t.match(answer, { text: 'Grüße 🦊', model: 'run', finish_reason: 'stop', completion_tokens: 13 })
  t.equal(pieces.join(''), 'Grüße 🦊')
  t.match(await kernel.invoke('model.list', {}, call), {
    models: [{ name: 'run', status: 'ready', device: 'cpu', parameters: 3_200_000, context: 512, adapter: true }]
  })
})

t.test('an operation rejects the same requests as the routes, with error codes', async t => {
  const { kernel, models } = await open(t, { withoutHttp: true, contextLength: 64 })
  const call = { surface: 'internal', principal: { id: 'local', role: 'admin', scopes: ['*'] } } as const
  const refusal = (input: object) => kernel.invoke('model.generate', input, call).catch(error => error)
  t.match(await refusal({ prompt: 'x', model: 'other' }), { code: 'MSV_MODEL_UNKNOWN', status: 404 })
  t.match(await refusal({ prompt: 'x'.repeat(100) }), { code: 'MSV_CONTEXT_EXCEEDED', status: 400 })
  t.match(await refusal({ prompt: '' }), { code: 'OPR_INPUT_INVALID' })
  const abort = new AbortController()
  const slow = kernel.invoke('model.generate', { prompt: 'hello' }, { ...call, signal: abort.signal })
  abort.abort()
  await t.rejects(slow, { code: 'OPR_CANCELLED' })
  await until(() => models()[0]?.capacity().active === 0)
})

t.test('binding beyond loopback without a key logs a warning', async t => {
  const warned = async (settings: object) => {
    const { lines } = await open(t, { settings })
    return lines.some(({ level, message }) => level === 'warn' && /anyone who can reach/.test(message))
  }
  t.ok(await warned({ host: '0.0.0.0' }))
  t.notOk(await warned({ host: '0.0.0.0', api_key: 'k' }))
  t.notOk(await warned({}))
})

function bound(target: object, key: string | symbol): unknown {
  const value = Reflect.get(target, key, target)
  return typeof value === 'function' ? value.bind(target) : value
}
