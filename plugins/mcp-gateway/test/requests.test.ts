import { EventEmitter, once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import gateway from '#plugin'
import { bearer, openWorld, READ, toolsPlugin, WRITE } from './world.ts'

t.test('the routes return the bodies of the specification', async t => {
  const world = await openWorld(t)
  const json = async (path: string, headers?: Record<string, string>): Promise<unknown> =>
    (await world.get(path, headers)).json()

  t.same(await json('/health', {}), { status: 'ok' })
  const text = await world.get('/health', { accept: 'text/plain, application/json;q=0.5' })
  t.equal(await text.text(), 'ok')
  t.same(await json('/v1/mobile/status'), {
    success: true,
    git_status: null,
    orchestrator_status: { success: true, data: { did: 'orchestrator_status', by: 'first' } }
  })
  t.match(await json('/v1/info'), {
    enabled: true,
    bind_host: '127.0.0.1',
    bind_port: world.port,
    auth_required: true,
    require_forwarded_https: false,
    missing_tools: ['svc_chat_message', 'svc_plan', 'svc_plan_status'],
    calls_per_minute: 100_000
  })
  t.match(await json('/v1/tools', bearer(READ)), {
    success: true,
    tools: [
      { name: 'svc_orchestrator_status', description: 'Does orchestrator_status', product_lane: 'ai' },
      { name: 'svc_task_status', input_schema: { type: 'object', properties: { text: { type: 'string' } } } }
    ]
  })
  const both = await fetch(`${world.url}/v1/tools`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(WRITE) },
    body: '{"name":"svc_rebalance","args":null}'
  })
  t.match(await both.json(), { success: true, result: { data: { did: 'rebalance' } } })
})

t.test('unknown paths and built-in paths of the listener require a token and are not found', async t => {
  const world = await openWorld(t)
  for (const path of ['/ready', '/metrics', '/openapi.json', '/v1', '/v1/tools/other', '/../etc/passwd']) {
    t.equal((await world.get(path, {})).status, 401, path)
    const found = await world.get(path)
    t.same([found.status, await found.json()], [404, { error: 'not found' }], path)
  }
  const method = await fetch(`${world.url}/v1/info`, { method: 'DELETE', headers: bearer(WRITE) })
  t.same([method.status, method.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
  const socket = await world.get('/v1/ws')
  t.same([socket.status, socket.headers.get('upgrade')], [426, 'websocket'])
})

t.test('wrong tokens are rate-limited; then a short token is not compared, but a long one is', async t => {
  const world = await openWorld(t, { rate_limit_per_minute: 2 })
  const guess = async (): Promise<number> => (await world.get('/v1/tools', bearer('a-guess-0123456789'))).status
  t.same([await guess(), await guess(), await guess()], [401, 401, 429])
  t.equal((await world.get('/v1/tools', {})).status, 401, 'a missing token does not count as a wrong one')
  t.same((await world.get('/v1/tools', bearer(WRITE))).status, 200)
  t.same((await world.get('/v1/tools', bearer(READ))).status, 429)
})

t.test('/health requires a token if so configured, and is rate-limited', async t => {
  const world = await openWorld(t, { health_auth: true, require_forwarded_https: true, rate_limit_per_minute: 1 })
  t.equal((await world.get('/health', {})).status, 401)
  t.equal((await world.get('/health', { ...bearer(READ), origin: 'https://evil.example' })).status, 200)
  t.equal((await world.get('/health', bearer(READ))).status, 429)
})

t.test('rejects hostile bodies without calling a tool', async t => {
  const world = await openWorld(t)
  const post = (body: string | Buffer, type = 'application/json', headers = {}): Promise<Response> =>
    fetch(`${world.url}/v1/tools/call`, {
      method: 'POST',
      headers: { 'content-type': type, ...bearer(WRITE), ...headers },
      body
    })
  const cases: [string, Promise<Response>, number, RegExp][] = [
    ['nothing', post(''), 400, /not JSON/],
    ['no JSON', post('{name:1}'), 400, /not valid JSON/],
    ['an array', post('[]'), 400, /has to be an object/],
    ['null', post('null'), 400, /has to be an object/],
    ['no name', post('{}'), 400, /missing tool name/],
    ['a name that is not a string', post('{"name":{"toString":1}}'), 400, /missing tool name/],
    ['arguments that are not an object', post('{"name":"svc_rebalance","args":"x"}'), 400, /args has to be an object/],
    ['no UTF-8', post(Buffer.from([0x22, 0xff, 0x22])), 400, /not UTF-8/],
    ['a form', post('name=svc_rebalance', 'application/x-www-form-urlencoded'), 415, /has to be JSON/],
    ['text', post('{"name":"svc_rebalance"}', 'text/plain'), 415, /has to be JSON/],
    ['a compressed body', post('x', 'application/json', { 'content-encoding': 'gzip' }), 415, /encoded/],
    ['too much', post(`{"name":"${'x'.repeat(262_144)}"}`), 413, /larger than the limit of 262144/]
  ]
  for (const [what, response, status, error] of cases) {
    const answer = await response
    t.equal(answer.status, status, what)
    t.match(await answer.json(), { error }, what)
  }
  const deep = await post(`{"name":"svc_rebalance","args":${'{"text":'.repeat(20_000)}1${'}'.repeat(20_000)}}`)
  t.match([deep.status, await deep.json()], [400, { error: /nested deeper/ }])
  const proto = await post('{"name":"svc_rebalance","args":{"__proto__":{"text":"fail"}}}')
  t.match([proto.status, await proto.json()], [400, { error: /__proto__/ }])
  const long = await world.call('svc_rebalance', { text: 'x'.repeat(300) })
  t.match(await long.json(), { success: true })
  t.match(await (await world.call('constructor')).json(), { success: false })

  // The limit also applies to a body without content-length.
  const streamed = await new Promise<number>((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...bearer(WRITE) }
    const sent = httpRequest(`${world.url}/v1/tools/call`, { method: 'POST', headers }, response => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    for (let piece = 0; piece < 5; piece++) sent.write('x'.repeat(65_536))
    sent.end()
  })
  t.equal(streamed, 413)
})

t.test('failures of tools are part of the response body', async t => {
  const world = await openWorld(t, { allowed_tools: ['svc_rebalance', 'svc_plain', 'raw_picture'] })
  const answer = async (name: string, args: object): Promise<unknown> => (await world.call(name, args)).json()
  t.match(await answer('svc_rebalance', { text: 'fail' }), {
    success: false,
    is_error: true,
    result: { success: false, error: 'not today', meta: { code: 'WORLD_REFUSED' } }
  })
  t.match(await answer('svc_rebalance', { count: 0 }), {
    is_error: true,
    result: { remediation: /svc call world.rebalance/, meta: { code: 'OPR_INPUT_INVALID' } }
  })
  t.match(await answer('svc_plain', { text: 'fail' }), {
    is_error: true,
    result: { error: /^WORLD_REFUSED: not today/ }
  })
  t.same(await answer('svc_plain', {}), { success: true, is_error: false, result: { did: 'plain', by: 'first' } })
  t.match(await answer('raw_picture', { broken: true }), { is_error: true, result: { error: 'a picture' } })
})

t.test('the call of a disconnected client is aborted', async t => {
  const gates = new EventEmitter()
  const world = await openWorld(t, {}, { plugins: [toolsPlugin({ gates })] })
  const entered = once(gates, 'entered a')
  const aborted = once(gates, 'aborted a')
  const sent = httpRequest(`${world.url}/v1/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...bearer(WRITE) }
  })
  sent.on('error', () => undefined)
  sent.end('{"name":"svc_rebalance","args":{"text":"wait a"}}')
  await entered
  sent.destroy()
  await aborted
  gates.emit('open a')
})

t.test('a gateway on loopback accepts only the names of this machine', async t => {
  const ask = (port: number, host: string, headers = {}, path = '/v1/tools'): Promise<number> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, headers: { host, ...bearer(WRITE), ...headers } }
      httpRequest(options, response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
  const world = await openWorld(t, { allowed_origins: ['https://svc.example.org'] })
  for (const host of ['127.0.0.1', 'localhost:1', '[::1]:8080', 'svc.example.org']) {
    t.equal(await ask(world.port, host), 200, host)
  }
  for (const host of ['evil.example', 'localhost.evil.example:80', '127.0.0.1.nip.io', '127.999.999.999']) {
    t.equal(await ask(world.port, host), 403, host)
    t.equal(await ask(world.port, host, {}, '/health'), 403, `/health of ${host}`)
  }
  t.equal(await ask(world.port, 'svc.example.org', { origin: 'https://svc.example.org' }), 200)
  t.equal(await ask(world.port, 'svc.example.org', { origin: 'http://svc.example.org' }), 403)

  const wide = await openWorld(t, { host: '0.0.0.0' })
  t.equal(
    await ask(wide.port, '192.0.2.7:3921', { origin: 'http://192.0.2.7:3921' }),
    200,
    "a page of the gateway's own origin with an IP address"
  )
  t.equal(
    await ask(wide.port, 'evil.example', { origin: 'http://evil.example' }),
    403,
    'a foreign DNS name that points to this machine is rejected'
  )
  t.equal(await ask(wide.port, '192.0.2.7:3921', { origin: 'http://192.0.2.8:3921' }), 403)
})

t.test('running requests, the port and the rate limits survive a reload of the gateway', async t => {
  const gates = new EventEmitter()
  const world = await openWorld(t, { rate_limit_per_minute: 3 }, { plugins: [toolsPlugin({ gates })] })
  const entered = once(gates, 'entered a')
  const pending = world.call('svc_rebalance', { text: 'wait a' })
  await entered
  await world.kernel.replace(definePlugin({ ...gateway }) as Plugin)
  t.equal((await world.get('/v1/info')).status, 200)
  t.equal((await world.get('/v1/info')).status, 200)
  t.equal((await world.get('/v1/info')).status, 429)
  gates.emit('open a')
  t.match(await (await pending).json(), { success: true })
})
