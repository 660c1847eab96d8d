import { type HttpCaller, httpListeners, httpRoutes, TokenBuckets } from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import tap from 'tap'
import { Guard } from '#root'
import { operationPlugin, things } from './echo.ts'
import { openWorld, parseResponse, sendBytes, sendRequest } from './world.ts'

const whoami = defineOperation({
  id: 'whoami.tell',
  summary: 'Return the caller',
  effect: 'read',
  input: t.object({}),
  output: t.unknown(),
  expose: { http: { method: 'GET', path: '/v1/whoami' } }
})
const guarded = defineOperation({
  ...whoami,
  id: 'whoami.guarded',
  scopes: ['admin'],
  expose: { http: { method: 'GET', path: '/v1/guarded' } }
})

const who = definePlugin({
  name: 'whoami',
  operations: [whoami, guarded],
  activate(ctx) {
    ctx.implement(whoami, (_input, call) => call.principal)
    ctx.implement(guarded, (_input, call) => call.principal)
    ctx.contribute(httpListeners, { name: 'own', host: '127.0.0.1', port: 0, setting: 'whoami.port', guard: 'own' })
    for (const listener of ['main', 'own']) {
      ctx.contribute(httpRoutes, {
        listener,
        routes: [{ method: 'GET', path: '/raw' }],
        register(app) {
          const scope = app as FastifyInstance
          scope.get('/raw', async request => (request as unknown as { caller: HttpCaller }).caller.principal)
        }
      })
    }
  }
}) as Plugin

const status = async (answer: Promise<string>): Promise<number> => parseResponse(await answer).status
const from = (host: string): string => `GET /v1/whoami HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`

tap.test('a listener on loopback without settings', async tap => {
  const world = await openWorld([who, things])
  tap.teardown(() => world.close())
  const port = world.port()

  tap.test('a local caller may call every route', async tap => {
    tap.match(await (await fetch(world.url('/v1/guarded'))).json(), { id: 'local', role: 'owner' })
    tap.match(await (await fetch(world.url('/raw'))).json(), { id: 'local' })
  })

  tap.test('accepts loopback names, and rejects a rebound name', async tap => {
    for (const host of ['localhost', `localhost:${port}`, '127.0.0.1', '127.5.5.5:80', '[::1]:3847', 'LOCALHOST']) {
      tap.equal(await status(sendBytes(port, from(host))), 200, host)
    }
    for (const host of ['evil.example', `evil.example:${port}`, 'localhost.evil.example', '127.0.0.1.evil.example']) {
      tap.equal(await status(sendBytes(port, from(host))), 403, host)
    }
    const answer = parseResponse(await sendBytes(port, from('evil.example')))
    tap.match(JSON.parse(answer.body), { error: { code: 'HTTP_HOST_FORBIDDEN', hint: /allowed_hosts/ } })
  })

  tap.test('rejects a page of another origin, with and without a preflight', async tap => {
    for (const origin of ['https://evil.example', 'null', `http://localhost:${port + 1}`]) {
      const answer = parseResponse(await sendRequest(port, 'POST /v1/things', [`origin: ${origin}`]))
      tap.equal(answer.status, 403, origin)
      tap.match(JSON.parse(answer.body), { error: { code: 'HTTP_ORIGIN_FORBIDDEN' } })
      tap.notMatch(answer.head, /access-control/)
    }
    tap.equal(
      await status(sendRequest(port, 'POST /v1/things', ['origin: http://localhost'])),
      200,
      "a page of the server's own origin may call"
    )
    const preflight = ['origin: https://evil.example', 'access-control-request-method: POST']
    tap.equal(await status(sendRequest(port, 'OPTIONS /v1/things', preflight)), 403)
  })

  tap.test('a request through a proxy is not local', async tap => {
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    tap.match(await (await fetch(world.url('/v1/whoami'), { headers })).json(), { id: 'anonymous', scopes: [] })
    tap.equal((await fetch(world.url('/v1/guarded'), { headers })).status, 403)
    const ready = await (await fetch(world.url('/ready'), { headers })).json()
    tap.same(ready, { status: 'ready' }, 'a caller through a proxy sees no details')
  })

  tap.test('rejects a request that names two hosts, on every listener', async tap => {
    for (const listener of ['main', 'own']) {
      const send = (start: string, ...hosts: string[]) => {
        const lines = [`${start} HTTP/1.1`, ...hosts.map(host => `Host: ${host}`), 'connection: close']
        return sendBytes(world.port(listener), `${lines.join('\r\n')}\r\n\r\n`)
      }
      tap.equal(await status(send('GET /raw', 'localhost')), 200)
      tap.equal(
        await status(send('GET http://localhost/raw?a=b', 'localhost')),
        200,
        'a target in absolute form is accepted'
      )
      for (const [start, ...hosts] of [
        ['GET /raw', 'localhost', 'evil.example'],
        ['GET /raw', 'evil.example', 'localhost'],
        ['GET /raw', 'localhost', 'localhost'],
        ['GET http://evil.example/raw', 'localhost'],
        ['GET http://localhost@evil.example/raw', 'localhost'],
        ['GET http://evil.example', 'localhost']
      ] as [string, ...string[]][]) {
        const answer = parseResponse(await send(start, ...hosts))
        tap.equal(answer.status, 400, `${start} ${hosts}`)
        tap.match(JSON.parse(answer.body), { error: { code: 'HTTP_MALFORMED' } })
      }
      const upgrade = 'connection: upgrade\r\nupgrade: websocket\r\n\r\n'
      const twice = `GET /raw HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n${upgrade}`
      tap.equal(await status(sendBytes(world.port(listener), twice)), 400, 'a handshake with two hosts is rejected')
    }
  })

  tap.test("a listener with guard 'own' skips the guard", async tap => {
    tap.equal(
      await status(
        sendBytes(
          world.port('own'),
          'GET /raw HTTP/1.1\r\nhost: any.example\r\norigin: null\r\nconnection: close\r\n\r\n'
        )
      ),
      200
    )
    tap.match(await (await fetch(world.url('/raw', 'own'))).json(), { id: 'anonymous' })
  })
})

tap.test('a listener with a token', async tap => {
  const world = await openWorld([who], { token: 's3cret-token' })
  tap.teardown(() => world.close())
  const call = (path: string, authorization?: string) =>
    fetch(world.url(path), authorization === undefined ? {} : { headers: { authorization } })

  tap.test('requires the token', async tap => {
    for (const wrong of [undefined, 'Bearer nope', 'Bearer s3cret-token2', 'Basic s3cret-token', 'Bearer']) {
      const response = await call('/v1/whoami', wrong)
      tap.equal(response.status, 401, String(wrong))
      tap.equal(response.headers.get('www-authenticate'), 'Bearer')
      tap.match(await response.json(), { error: { code: 'HTTP_UNAUTHORIZED' } })
    }
    tap.match(await (await call('/v1/whoami', 'bearer s3cret-token')).json(), { id: 'bearer', scopes: ['*'] })
    for (const path of ['/metrics', '/openapi.json', '/nowhere', '/raw'])
      tap.equal((await call(path)).status, 401, path)
  })

  tap.test('requires no token for probes and the page', async tap => {
    for (const path of ['/health', '/ready', '/docs', '/docs/page.mjs', '/docs/page.css']) {
      tap.equal((await call(path)).status, 200, path)
    }
    tap.same(await (await call('/ready')).json(), { status: 'ready' })
    tap.match(await (await call('/ready', 'Bearer s3cret-token')).json(), { status: 'ready', checks: [] })
    const api = await (await call('/openapi.json', 'Bearer s3cret-token')).json()
    tap.match(api, { security: [{ bearer: [] }], components: { securitySchemes: { bearer: { scheme: 'bearer' } } } })
  })

  tap.test('limits the rate of wrong tokens, and then compares no short token', async tap => {
    const statuses: number[] = []
    let refused: Response
    do {
      refused = await call('/v1/whoami', `Bearer wrong${statuses.length}`)
      statuses.push(refused.status)
    } while (refused.status === 401 && statuses.length < 10_000)
    tap.equal(statuses[0], 401)
    tap.equal(refused.status, 429)
    tap.ok(Number(refused.headers.get('retry-after')) >= 1)
    tap.match(await refused.json(), { error: { code: 'HTTP_TOO_MANY_TOKENS' } })
    tap.equal((await call('/v1/whoami')).status, 401, 'a missing token does not count as a wrong one')
    // The limit allows a guess a second, so on a slow machine the right token may be the one that is compared.
    let right = 200
    for (let attempts = 0; right === 200 && attempts < 100; attempts += 1) {
      while (
        (await call('/ready', 'Bearer wrong')).status !== 200 ||
        (await call('/v1/whoami', 'Bearer wrong')).status !== 429
      );
      right = (await call('/v1/whoami', 'Bearer s3cret-token')).status
    }
    tap.equal(right, 429)
    tap.same(
      await (await call('/ready', 'Bearer s3cret-token')).json(),
      { status: 'ready' },
      'open routes are no way to guess'
    )
  })

  tap.test('shows the token in no log line and no response', async tap => {
    tap.notMatch(JSON.stringify(world.kernel.log), /s3cret/)
    tap.notMatch(await (await call('/metrics', 'Bearer s3cret-token')).text(), /s3cret/)
  })
})

tap.test('CORS for configured origins', async tap => {
  const world = await openWorld([things], { cors_origins: ['https://app.example'] })
  tap.teardown(() => world.close())
  const call = (method: string, headers: Record<string, string>) => fetch(world.url('/v1/things'), { method, headers })

  const simple = await call('POST', { origin: 'https://app.example' })
  tap.equal(simple.status, 200)
  tap.equal(simple.headers.get('access-control-allow-origin'), 'https://app.example')
  tap.equal(simple.headers.get('vary'), 'Origin')
  tap.match(simple.headers.get('access-control-expose-headers'), /x-request-id/)
  const failed = await fetch(world.url('/nowhere'), { headers: { origin: 'https://app.example' } })
  tap.equal(
    failed.headers.get('access-control-allow-origin'),
    'https://app.example',
    'error responses have CORS headers, too'
  )

  const preflight = await call('OPTIONS', {
    origin: 'https://app.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'content-type, authorization'
  })
  tap.equal(preflight.status, 204)
  tap.equal(preflight.headers.get('access-control-allow-methods'), 'POST, OPTIONS')
  tap.equal(preflight.headers.get('access-control-allow-headers'), 'content-type, authorization')
  tap.equal((await call('POST', { origin: 'https://other.example' })).status, 403)

  const open = await openWorld([things], { cors_origins: ['*'], token: 'abc' })
  tap.teardown(() => open.close())
  const asked = await fetch(open.url('/v1/things'), {
    method: 'OPTIONS',
    headers: { origin: 'https://anyone.example', 'access-control-request-method': 'POST' }
  })
  tap.equal(asked.status, 204, 'a preflight needs no token')
  tap.equal(asked.headers.get('access-control-allow-origin'), '*')
})

/** Returns a plugin with a listener that checks its callers itself, except their origins. */
function withOrigins(...allowed: string[]): Plugin {
  return definePlugin({
    name: 'pages',
    activate(ctx) {
      const origins = { allowed, setting: 'plugins.pages.origins' }
      const address = { host: '127.0.0.1', port: 0, setting: 'plugins.pages.port' }
      ctx.contribute(httpListeners, { name: 'pages', ...address, guard: 'own', origins, errors: 'plain' })
      ctx.contribute(httpRoutes, {
        listener: 'pages',
        routes: [{ method: 'POST', path: '/raw' }],
        register(app) {
          const scope = app as FastifyInstance
          scope.post('/raw', async () => 'answer')
        }
      })
    }
  }) as Plugin
}

tap.test('a listener with origins checks them, even if its routes check everything else', async tap => {
  const allowed = ['http://localhost:*', 'app://*', 'https://*.example.org', 'https://One.Example']
  const world = await openWorld([withOrigins(...allowed)])
  tap.teardown(() => world.close())
  const call = (origin: string, headers = {}, method = 'POST') =>
    fetch(world.url('/raw', 'pages'), { method, headers: { origin, ...headers } })
  const own = world.url('', 'pages')
  for (const origin of ['http://localhost:1', 'app://obsidian.md', 'https://a.b.example.org', 'https://one.example']) {
    const response = await call(origin)
    tap.equal(response.status, 200, origin)
    tap.equal(response.headers.get('access-control-allow-origin'), origin)
    tap.equal(response.headers.get('vary'), 'Origin')
  }
  tap.equal((await call(own)).headers.get('access-control-allow-origin'), null)
  tap.equal((await call(own)).status, 200, "a page of the server's own origin may call")
  const foreign = [
    'http://localhost',
    'http://localhost:',
    'http://localhost:1.evil.example',
    'http://localhost:80@evil.example',
    'https://localhost:1',
    'http://evil.example:1',
    'https://evil.example/.example.org',
    'https://exampleXorg',
    'null',
    'app:/',
    `app://${'x'.repeat(300)}`
  ]
  for (const origin of foreign) {
    const response = await call(origin)
    tap.equal(response.status, 403, origin)
    tap.equal(response.headers.get('access-control-allow-origin'), null)
    const hint = 'add the origin to plugins.pages.origins'
    tap.match(await response.json(), { code: 'HTTP_ORIGIN_FORBIDDEN', hint })
  }
  const asks = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-stainless-os' }
  const preflight = await call('http://localhost:1', asks, 'OPTIONS')
  tap.equal(preflight.status, 204)
  tap.equal(preflight.headers.get('access-control-allow-headers'), 'x-stainless-os')
  tap.equal((await call('https://evil.example', asks, 'OPTIONS')).status, 403)
})

tap.test('a listener on all addresses', async tap => {
  const world = await openWorld([who], { host: '0.0.0.0' })
  tap.teardown(() => world.close())
  const warning = world.kernel.log.find(line => line.level === 'warn')
  tap.match(warning?.message, /accepts every caller/)
  tap.match(warning?.fields, { hint: /token/ })
  tap.equal(await status(sendBytes(world.port(), from('any.example'))), 200)

  const buckets = new TokenBuckets(60)
  const named = new Guard(
    { host: '0.0.0.0', local_access: 'open', allowed_hosts: ['api.example'], origins: null },
    buckets
  )
  const admit = (host: string) => () => named.admit({ headers: { host } } as never, null)
  tap.doesNotThrow(admit('API.example:80'))
  tap.doesNotThrow(admit('localhost:3847'), 'a probe on this machine is accepted')
  tap.throws(admit('evil.example'), { code: 'HTTP_HOST_FORBIDDEN' })

  const request = (remoteAddress: string, host: string) => ({ headers: { host }, socket: { remoteAddress } }) as never
  tap.match(named.identify(request('::ffff:203.0.113.9', 'localhost')), { id: 'anonymous' })
  tap.match(named.identify(request('::ffff:127.0.0.1', 'localhost:3847')), { id: 'local' })
  const rebound = request('127.0.0.1', 'evil.example:3847')
  const everybody = new Guard({ host: '0.0.0.0', local_access: 'open', allowed_hosts: [], origins: null }, buckets)
  tap.match(everybody.identify(rebound), { id: 'anonymous' }, 'a caller with a rebound DNS name is anonymous')
})

tap.test('binding beyond loopback with a token logs no warning', async tap => {
  const world = await openWorld([operationPlugin('whoami', whoami, (_input, call) => call.principal)], {
    host: '0.0.0.0',
    token: 'abc'
  })
  tap.teardown(() => world.close())
  tap.equal(
    world.kernel.log.some(line => line.level === 'warn'),
    false
  )
  const answer = await fetch(`http://127.0.0.1:${world.port()}/v1/whoami`, {
    headers: { authorization: 'Bearer  abc' }
  })
  tap.equal(answer.status, 200)
})

tap.test('local_access = "token" refuses callers on this machine without a token', async tap => {
  await tap.rejects(openWorld([], { local_access: 'token' }), { message: /plugins\.http\.token is not set/ })
  const world = await openWorld([], { local_access: 'token', token: 'x'.repeat(22) })
  tap.teardown(() => world.close())
  tap.equal((await fetch(world.url('/openapi.json'))).status, 401)
  tap.equal((await fetch(world.url('/health'))).status, 200)
  const headers = { authorization: `Bearer ${'x'.repeat(22)}` }
  tap.equal((await fetch(world.url('/openapi.json'), { headers })).status, 200)
})
