import { get as httpGet, type IncomingMessage } from 'node:http'
import { inferenceServers } from '@svc/contracts'
import { definePlugin, isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { ROUTED_PATHS, type RoutedPath, readRequest } from '#root'
import { modelServer } from './model-servers.ts'
import { openRouter } from './open-router.ts'
import { until } from './until.ts'

t.test('a chat is answered byte for byte by a server that has the model', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['small'] })
  const other = await modelServer(t, { api: 'openai', models: ['large'] })
  const { post, chat } = await openRouter(t, { one, other })
  const body = '{"model": "large",  "stream": true, "messages": [{"role":"user","content":"a b é"}]}'
  const direct = await fetch(`${other.url}/v1/chat/completions`, { method: 'POST', body })
  const routed = await post('/v1/chat/completions', body)
  t.equal(routed.headers.get('x-svc-server'), 'other')
  t.equal(routed.headers.get('content-type'), 'text/event-stream')
  t.equal(await routed.text(), await direct.text())
  t.same(other.received[1]?.body, JSON.parse(body))
  t.equal((await chat('small', 'hello')).server, 'one')
  t.equal(one.received.length, 1)
})

t.test('Ollama routes use only servers that speak Ollama, whatever has the model', async t => {
  const ollama = await modelServer(t, { api: 'ollama', models: ['llama3:latest'] })
  const vllm = await modelServer(t, { api: 'vllm', models: ['llama3', 'only-vllm'] })
  const { post } = await openRouter(t, { ollama, vllm })
  for (let turn = 0; turn < 4; turn++) {
    const response = await post('/api/chat', { model: 'llama3', messages: [{ role: 'user', content: `x${turn}` }] })
    t.equal(response.headers.get('x-svc-server'), 'ollama')
    t.match(await response.text(), /"done":true/)
  }
  const refused = await post('/api/chat', { model: 'only-vllm', messages: [] })
  t.equal(refused.status, 501)
  t.match(await refused.json(), { code: 'IRT_API_UNSUPPORTED', error: /routes below \/v1/ })
  const show = await post('/api/show', { name: 'llama3' })
  t.match(await show.json(), { modelfile: 'FROM undefined' })
  t.match(await (await post('/api/embed', { model: 'llama3', input: 'x' })).json(), { embeddings: [[1, 2]] })
})

t.test('model lists join the models of all servers', async t => {
  const ollama = await modelServer(t, { api: 'ollama', models: ['a:latest', 'b'], loaded: ['b'] })
  const vllm = await modelServer(t, { api: 'vllm', models: ['org/base', 'sql'], adapters: { sql: 'org/base' } })
  const { get } = await openRouter(t, { ollama, vllm })
  const list = (await (await get('/v1/models')).json()) as { data: { id: string }[] }
  t.same(list.data.map(({ id }) => id).sort(), ['a:latest', 'b', 'org/base', 'sql'])
  t.match(await (await get('/v1/models/org/base')).json(), { id: 'org/base', object: 'model', max_model_len: 4096 })
  t.match(await (await get('/v1/models/sql')).json(), { parent: 'org/base' })
  t.equal((await get('/v1/models/none')).status, 404)
  const tags = (await (await get('/api/tags')).json()) as { models: { name: string }[] }
  t.same(tags.models.map(({ name }) => name).sort(), ['a:latest', 'b'])
  t.match(await (await get('/api/ps')).json(), { models: [{ name: 'b', context_length: 4096 }] })
  t.equal(await (await get('/')).text(), 'svc inference router is running')
})

t.test('an unknown model, route or body gets an error that names it', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['small'] })
  const { chat, get, post } = await openRouter(t, { one }, { max_body_bytes: 2048 })
  const unknown = await chat('large', 'x')
  t.equal(unknown.status, 404)
  t.match(JSON.parse(unknown.text), {
    error: { code: 'IRT_MODEL_UNKNOWN', message: 'model "large" not found; the servers have: small' }
  })
  for (const [body, status, message] of [
    ['', 400, /missing request body/],
    ['[]', 400, /must be a JSON object/],
    ['{', 400, /not valid JSON/],
    ['{"model":"small","model":"large"}', 400, /twice/],
    ['{"messages":[]}', 400, /'model' must be the name of a model/],
    ['{"model":7}', 400, /'model'/],
    [JSON.stringify({ model: 'small', prompt: 'x'.repeat(3000) }), 413, /limit of 2048 bytes/]
  ] as const) {
    const response = await post('/v1/chat/completions', body)
    t.equal(response.status, status, body.slice(0, 40))
    t.match(((await response.json()) as { error: { message: string } }).error.message, message)
  }
  t.match(await (await get('/v1/files')).json(), { error: { code: 'IRT_ROUTE_UNKNOWN' } })
  const pull = await post('/api/pull', { model: 'small' })
  t.equal(pull.status, 404)
  t.match(await pull.json(), { error: 'the router has no route POST /api/pull', hint: /on their servers/ })
  t.equal(one.received.length, 0)
})

t.test('a router without servers says how to add one', async t => {
  const { chat, kernel } = await openRouter(t, {})
  const { status, text } = await chat('small', 'x')
  t.equal(status, 503)
  t.match(JSON.parse(text), { error: { code: 'IRT_NO_SERVERS' } })
  t.equal(kernel.state('inference-router'), 'active')
})

t.test('requests need the key of the router, and servers receive only their own key', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'], key: 'key-of-server' })
  const settings = {
    api_key: 'key-of-router',
    servers: [{ name: 'one', url: one.url, api: 'openai', api_key: 'key-of-server' }]
  }
  const { kernel, post, get, servers } = await openRouter(t, { one }, settings)
  await servers()
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  const send = (authorization: string, more = {}) =>
    post('/v1/chat/completions', body, { headers: { 'content-type': 'application/json', authorization, ...more } })
  t.equal((await post('/v1/chat/completions', body)).status, 401)
  t.equal((await send('Bearer key-of-server')).status, 401)
  t.equal((await get('/v1/models')).status, 401)
  t.equal((await get('/none')).status, 401)
  t.equal((await get('/')).status, 200)
  const right = await send('Bearer key-of-router', { cookie: 'a=1', 'x-api-key': 'client', 'x-request-id': 'r-1' })
  t.equal(right.status, 200)
  t.equal(right.headers.get('x-request-id'), 'r-1')
  const [{ headers } = { headers: {} as Record<string, string> }] = one.received
  t.equal(headers.authorization, 'Bearer key-of-server')
  t.equal(headers['x-request-id'], 'r-1')
  t.same([headers.cookie, headers['x-api-key']], [undefined, undefined])
  t.notMatch(JSON.stringify(kernel.log), /key-of/)
})

t.test('web pages of other origins and other host names are rejected', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  const { post, url } = await openRouter(t, { one })
  const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' }
  t.equal((await post('/v1/chat/completions', { model: 'm' }, { headers })).status, 403)
  t.equal(await statusFor(url, 'evil.example'), 403)
  t.equal(await statusFor(url, 'localhost'), 200)
  t.equal(one.received.length, 0)
})

t.test('a page whose name points at a router on another address is rejected, unless it has the key', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  // After DNS rebinding, the page and the router have the same origin, so that the browser asks for no permission.
  const page = { origin: 'http://evil.example:11436', 'content-type': 'application/json' }
  const open = await openRouter(t, { one }, { host: '0.0.0.0' })
  const refused = await open.post('/v1/chat/completions', { model: 'm' }, { headers: page })
  t.equal(refused.status, 403)
  t.match(await refused.json(), { error: { code: 'IRT_ORIGIN' } })
  t.equal(one.received.length, 0)
  const guarded = await openRouter(t, { one }, { host: '0.0.0.0', api_key: 'key-1' })
  t.equal((await guarded.post('/v1/chat/completions', { model: 'm' }, { headers: page })).status, 401)
  const headers = { ...page, authorization: 'Bearer key-1' }
  t.equal((await guarded.post('/v1/chat/completions', { model: 'm' }, { headers })).status, 200)
  const text = { ...headers, 'content-type': 'text/plain' }
  t.equal((await guarded.post('/v1/chat/completions', { model: 'm' }, { headers: text })).status, 415)
})

/** Returns the status of the list of models for a Host header, which `fetch` does not let a caller set. */
async function statusFor(url: string, host: string): Promise<number | undefined> {
  const response = await new Promise<IncomingMessage>(resolve =>
    httpGet(`${url}/v1/models`, { headers: { host } }, resolve)
  )
  response.resume()
  return response.statusCode
}

t.test('any JSON body is either a request or a typed error', async () => {
  const field = fc.constantFrom('model', 'name', 'messages', 'prompt', 'system', 'tools', 'stream', 'input', 'role')
  const body = fc.oneof(fc.jsonValue(), fc.dictionary(field, fc.jsonValue()), fc.string())
  fc.assert(
    fc.property(body, fc.constantFrom<RoutedPath[]>(...ROUTED_PATHS), (value, path) => {
      const bytes = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
      try {
        const request = readRequest(path, bytes)
        return request.body === bytes && request.model !== '' && request.prompt.blocks.every(Number.isSafeInteger)
      } catch (error) {
        return isSvcError(error, 'IRT_REQUEST_INVALID')
      }
    }),
    { numRuns: 500 }
  )
})

t.test('a request that comes back to its router ends instead of circulating', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  let self = 'http://127.0.0.1:9'
  const list = () => [{ name: 'self', url: self, api: 'openai' } as const]
  const source = definePlugin({
    name: 'self-source',
    activate: ctx => ctx.contribute(inferenceServers, { source: 'self', list })
  })
  const outer = await openRouter(t, { one }, {}, { plugins: [source] })
  const inner = await openRouter(t, { outer: { url: outer.url, options: { api: 'openai' } } })
  await until(async () => (await inner.servers()).every(({ status }) => status === 'ready'))
  t.match(await inner.chat('m', 'x'), { status: 200, server: 'outer' }, 'routers may be chained')
  self = outer.url
  await until(async () => (await outer.servers()).some(each => each.name === 'self' && each.url === self))
  await one.kill()
  t.match(await outer.chat('m', 'x'), { status: 508, text: /IRT_LOOP/ })
})
