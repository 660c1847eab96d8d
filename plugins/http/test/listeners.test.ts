import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { httpHandlers, httpListeners, httpRoutes } from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import tap from 'tap'
import { freePort } from '../../../test/free-port.ts'
import { operationPlugin, things } from './echo.ts'
import { gate, openWorld, sendBytes, type World } from './world.ts'

async function takenPort(tap: { teardown(fn: () => unknown): void }): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  tap.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Returns a plugin with its own listener. */
function side(port: number, answer = 'side', waiting?: Promise<void>): Plugin {
  return definePlugin({
    name: 'side',
    activate(ctx) {
      ctx.contribute(httpListeners, { name: 'side', host: '127.0.0.1', port, setting: 'plugins.side.port' })
      ctx.contribute(httpRoutes, {
        listener: 'side',
        routes: [
          { method: 'GET', path: '/health' },
          { method: 'GET', path: '/answer' }
        ],
        register(app) {
          const scope = app as FastifyInstance
          scope.get('/health', async () => 'well\n')
          scope.get('/answer', async () => {
            await waiting
            return answer
          })
        }
      })
    }
  }) as Plugin
}

const none = definePlugin({ name: 'side', activate: () => {} }) as Plugin
const text = async (world: World, path: string, listener?: string): Promise<string> =>
  (await fetch(world.url(path, listener))).text()

tap.test('a port in use fails the change, and the error names port and setting', async tap => {
  const port = await takenPort(tap)
  await tap.rejects(openWorld([], { port }), {
    code: 'HTTP_PORT_IN_USE',
    message: new RegExp(`port ${port} on 127.0.0.1 is in use.*plugins.http.port`),
    at: { path: 'plugins.http.port' },
    data: { host: '127.0.0.1', port }
  })

  const world = await openWorld([things])
  tap.teardown(() => world.close())
  await tap.rejects(world.kernel.replace(side(port)), { code: 'HTTP_PORT_IN_USE', message: /plugins.side.port/ })
  tap.equal(world.addresses.length, 1)
  tap.match(await text(world, '/health'), /ok/)
})

tap.test('an address that cannot be bound fails the change', async tap => {
  await tap.rejects(openWorld([], { host: '203.0.113.1' }), { code: 'HTTP_BIND_FAILED', message: /203.0.113.1/ })
})

tap.test('a plugin can contribute a listener with its own port', async tap => {
  const world = await openWorld([things, side(0)])
  tap.teardown(() => world.close())
  tap.same(
    world.addresses.map(each => each.listener),
    ['main', 'side']
  )
  tap.equal(await text(world, '/answer', 'side'), 'side')
  tap.equal(await text(world, '/health', 'side'), 'well\n', 'the plugin overrides /health on its listener')
  tap.match(await text(world, '/ready', 'side'), /ready/)
  tap.match(await text(world, '/metrics', 'side'), /svc_generation/)
  tap.match(await text(world, '/v1/things/7', 'side'), /HTTP_NOT_FOUND/, 'operations are only on the main listener')
  tap.match(await text(world, '/docs', 'side'), /HTTP_NOT_FOUND/)
  tap.match(await text(world, '/answer'), /HTTP_NOT_FOUND/)

  const port = world.port('side')
  await world.kernel.replace(side(0, 'changed'))
  tap.equal(world.port('side'), port, 'the socket outlives the unit')
  tap.equal(await text(world, '/answer', 'side'), 'changed')
})

tap.test('a listener opens and closes with its plugin', async tap => {
  const port = await freePort()
  const held = gate()
  const world = await openWorld([none])
  tap.teardown(() => world.close())
  await world.kernel.replace(side(port, 'first', held.opened))
  const open = connect(port, '127.0.0.1')
  await once(open, 'connect')
  const answer = text(world, '/answer', 'side')
  while (!(await text(world, '/metrics')).includes('svc_http_requests_in_flight 2')) {}

  await world.kernel.replace(none)
  await tap.rejects(fetch(`http://127.0.0.1:${port}/answer`), 'a closed listener accepts no connections')
  await once(open, 'close')
  tap.pass('idle connections are closed')
  held.open()
  tap.equal(await answer, 'first', 'requests in flight end normally')

  await world.kernel.replace(side(port, 'again'))
  tap.equal(await text(world, '/answer', 'side'), 'again')
})

tap.test('a failed change leaves no port open', async tap => {
  const port = await freePort()
  const world = await openWorld([things])
  tap.teardown(() => world.close())
  const broken = definePlugin({
    name: 'side',
    activate(ctx) {
      ctx.contribute(httpListeners, { name: 'a', host: '127.0.0.1', port, setting: 'x' })
      ctx.contribute(httpRoutes, { listener: 'b', routes: [{ method: 'GET', path: '/' }], register: () => {} })
    }
  }) as Plugin
  await tap.rejects(world.kernel.replace(broken), { code: 'HTTP_LISTENER_UNKNOWN' })
  const half = definePlugin({
    name: 'half',
    activate(ctx) {
      ctx.contribute(httpListeners, { name: 'a', host: '127.0.0.1', port, setting: 'x' })
      ctx.contribute(httpListeners, { name: 'b', host: '127.0.0.1', port: world.port(), setting: 'y' })
    }
  }) as Plugin
  await tap.rejects(world.kernel.replace(half), { code: 'HTTP_PORT_IN_USE', message: /setting y/ })
  await tap.rejects(fetch(`http://127.0.0.1:${port}/`))
})

tap.test('the main listener can stay closed', async tap => {
  const world = await openWorld([things, side(0)], { main: false })
  tap.teardown(() => world.close())
  tap.same(
    world.addresses.map(each => each.listener),
    ['side']
  )
  tap.equal(await text(world, '/answer', 'side'), 'side')
})

tap.test('closing drains requests in flight, and does not wait for idle connections', async tap => {
  const wait = defineOperation({
    id: 'wait.long',
    summary: 'Waits',
    input: t.object({}),
    output: t.unknown(),
    expose: { http: { method: 'POST', path: '/v1/wait' } }
  })
  const held = gate()
  const begun = gate()
  const world = await openWorld([
    operationPlugin('wait', wait, async () => {
      begun.open()
      await held.opened
      return 'done'
    })
  ])
  const port = world.port()
  const request = 'POST /v1/wait HTTP/1.1\r\nhost: localhost\r\n\r\n'
  const answer = sendBytes(port, request)
  const idle = connect(port, '127.0.0.1')
  await once(idle, 'connect')
  const stammering = connect(port, '127.0.0.1')
  stammering.on('error', () => {}).write('GET /health HT')
  await begun.opened
  // When this request is answered, the server has read the earlier ones.
  await fetch(`http://127.0.0.1:${port}/health`)
  const gone = [once(idle, 'close'), once(stammering, 'close')]
  const closed = world.close()
  await Promise.all(gone)
  await tap.rejects(fetch(`http://127.0.0.1:${port}/health`), 'no new connection is accepted')
  held.open()
  const text = await answer
  tap.match(text, /^HTTP\/1.1 200 OK/)
  tap.match(text.toLowerCase(), /connection: close/)
  tap.match(text, /"done"$/)
  await closed
})

tap.test('closing has a time limit', async tap => {
  const hang = defineOperation({
    id: 'hang.on',
    summary: 'Never answers',
    input: t.object({}),
    output: t.unknown(),
    expose: { http: { method: 'POST', path: '/v1/hang' } }
  })
  const begun = gate<AbortSignal>()
  const world = await openWorld(
    [
      operationPlugin('hang', hang, async (_input, call) => {
        begun.open(call.signal)
        await once(call.signal, 'abort')
      })
    ],
    { drain_ms: 50 }
  )
  const answer = sendBytes(world.port(), 'POST /v1/hang HTTP/1.1\r\nhost: localhost\r\n\r\n')
  const signal = await begun.opened
  await world.close()
  tap.ok(signal.aborted)
  tap.equal(await answer, '')
})

/** Returns a plugin with a listener that checks its callers itself, and has one format of errors for each API. */
function guarded(port: number, prepared?: () => Promise<void>): Plugin {
  return definePlugin({
    name: 'guarded',
    activate(ctx) {
      ctx.contribute(httpListeners, {
        name: 'guarded',
        host: '127.0.0.1',
        port,
        setting: 'plugins.guarded.port',
        guard: 'own',
        errors: { '/': 'plain', '/v1': 'openai' }
      })
      ctx.contribute(httpRoutes, {
        listener: 'guarded',
        routes: [
          { method: 'GET', path: '/answer' },
          { method: 'GET', path: '/v1/fail' }
        ],
        register(app) {
          const scope = app as FastifyInstance
          scope.get('/answer', async () => 'answer')
          scope.get('/v1/fail', async () => {
            throw Object.assign(new Error('too much'), { statusCode: 413 })
          })
        }
      })
      if (prepared !== undefined) ctx.onServe('prepared', () => undefined, { prepare: prepared })
    }
  }) as Plugin
}

tap.test('built-in routes of a listener that checks its callers itself still check the host', async tap => {
  const world = await openWorld([guarded(0)], { allowed_hosts: ['svc.example'] })
  tap.teardown(() => world.close())
  const status = async (path: string, host: string): Promise<number> => {
    const request = `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`
    return Number((await sendBytes(world.port('guarded'), request)).split(' ')[1])
  }
  for (const path of ['/health', '/ready', '/metrics', '/nowhere']) {
    for (const host of ['evil.example', '127.999.999.999', 'localhost.evil.example'])
      tap.equal(await status(path, host), 403, `${path} of ${host}`)
    for (const host of ['localhost:11434', '127.0.0.1', '[::1]:1', 'svc.example'])
      tap.not(await status(path, host), 403, `${path} of ${host}`)
  }
  tap.equal(await status('/answer', 'evil.example'), 200, 'the route itself decides')
})

tap.test('a listener has a format of errors for each beginning of a path, also while it starts', async tap => {
  const port = await freePort()
  const { opened, open } = gate()
  const starting = openWorld([guarded(port, () => opened)])
  const answer = async (path: string) => {
    for (;;) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => null)
      if (response !== null) return { status: response.status, body: await response.json() }
    }
  }
  const message = 'the server is starting'
  tap.match(await answer('/api/tags'), { status: 503, body: { error: message, code: 'HTTP_STARTING' } })
  tap.match(await answer('/v1/models'), {
    status: 503,
    body: { error: { message, type: 'server_error', param: null, code: 'HTTP_STARTING' } }
  })
  open()
  const world = await starting
  tap.teardown(() => world.close())
  tap.match(await answer('/v1/fail'), {
    status: 413,
    body: { error: { message: 'too much', type: 'invalid_request_error', code: 'HTTP_REFUSED' } }
  })
  tap.match(await answer('/nowhere'), { status: 404, body: { error: 'no plugin serves /nowhere' } })
})

tap.test('a listener with a delay still serves after svc began to stop, then closes', async tap => {
  const port = await freePort()
  const slow = definePlugin({
    name: 'slow',
    activate(ctx) {
      ctx.contribute(httpListeners, {
        name: 'slow',
        host: '127.0.0.1',
        port,
        setting: 'plugins.slow.port',
        closeDelayMs: 3_000
      })
      ctx.contribute(httpHandlers, {
        listener: 'slow',
        routes: [{ method: 'GET', path: '/answer', handle: exchange => exchange.send(200, 'text/plain', 'yes') }]
      })
    }
  }) as Plugin
  const world = await openWorld([slow])
  const [main, own] = [world.url('/health'), world.url('/answer', 'slow')]
  const closing = world.close()
  await tap.rejects(fetch(main), 'the main listener closes at once')
  tap.equal(await (await fetch(own)).text(), 'yes')
  await closing
  await tap.rejects(fetch(own))
})
