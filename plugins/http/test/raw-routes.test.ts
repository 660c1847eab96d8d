import { type HttpCaller, httpRoutes } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import tap from 'tap'
import { gate, openWorld } from './world.ts'

type Routes = { method: 'GET' | 'POST'; path: string }[]

function rawPlugin(name: string, routes: Routes, register: (app: FastifyInstance) => void | Promise<void>): Plugin {
  return definePlugin({
    name,
    activate(ctx) {
      ctx.contribute(httpRoutes, { routes, register: app => register(app as FastifyInstance) })
    }
  }) as Plugin
}

const callerOf = (request: FastifyRequest): HttpCaller => (request as unknown as { caller: HttpCaller }).caller

tap.test('raw routes', async tap => {
  const disconnected = gate<HttpCaller>()
  const arrived = gate()
  const routes: Routes = [
    { method: 'GET', path: '/raw/text' },
    { method: 'GET', path: '/raw/files/*' },
    { method: 'GET', path: '/raw/hang' },
    { method: 'GET', path: '/raw/fail/:how' },
    { method: 'POST', path: '/raw/form' },
    { method: 'POST', path: '/raw/checked' },
    { method: 'POST', path: '/raw/hijack' }
  ]
  const plugin = rawPlugin('raw', routes, async app => {
    app.get('/raw/text', async () => 'plain')
    app.get('/raw/files/*', async request => (request.params as Record<string, string>)['*'])
    app.get('/raw/hang', async request => {
      const caller = callerOf(request)
      caller.signal.addEventListener('abort', () => disconnected.open(caller))
      arrived.open()
      await disconnected.opened
    })
    app.get('/raw/fail/:how', async request => {
      const { how } = request.params as { how: string }
      if (how === 'gone') throw Object.assign(new Error('it is gone'), { statusCode: 410 })
      throw new Error('token=abc')
    })
    await app.register(async scope => {
      scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
        done(null, Object.fromEntries(new URLSearchParams(body as string)))
      )
      scope.post('/raw/form', async request => request.body)
    })
    const schema = { body: { type: 'object', required: ['a'], properties: { a: { type: 'integer' } } } }
    app.post('/raw/checked', { schema }, async request => request.body)
    app.post('/raw/hijack', (_request, reply) => {
      reply.hijack()
      reply.raw.writeHead(200, { 'content-type': 'text/plain' }).end('mine')
    })
  })
  const world = await openWorld([plugin])
  tap.teardown(() => world.close())

  tap.test('may use their own format', async tap => {
    tap.equal(await (await fetch(world.url('/raw/text'))).text(), 'plain')
    tap.equal(await (await fetch(world.url('/raw/files/a/b%20c'))).text(), 'a/b c')
    const form = await fetch(world.url('/raw/form'), { method: 'POST', body: new URLSearchParams({ a: '1' }) })
    tap.same(await form.json(), { a: '1' })
  })

  tap.test('send the request id, even if they write the response without Fastify', async tap => {
    for (const [path, method] of [
      ['/raw/text', 'GET'],
      ['/raw/hijack', 'POST']
    ] as const) {
      const response = await fetch(world.url(path), { method, headers: { 'x-request-id': 'mine' } })
      tap.equal(response.headers.get('x-request-id'), 'mine')
      await response.text()
    }
  })

  tap.test('handle HEAD if they handle GET', async tap => {
    const response = await fetch(world.url('/raw/text'), { method: 'HEAD' })
    tap.equal(response.status, 200)
    tap.equal(response.headers.get('content-length'), '5')
  })

  tap.test('validate with the schemas that they pass to Fastify', async tap => {
    const headers = { 'content-type': 'application/json' }
    const good = await fetch(world.url('/raw/checked'), { method: 'POST', headers, body: '{"a":1}' })
    tap.same(await good.json(), { a: 1 })
    const bad = await fetch(world.url('/raw/checked'), { method: 'POST', headers, body: '{"a":"x"}' })
    tap.equal(bad.status, 400)
    tap.match(await bad.json(), { error: { code: 'HTTP_REFUSED', message: /must be integer/ } })
  })

  tap.test('may throw a 4xx error; other errors do not reveal their cause', async tap => {
    const gone = await fetch(world.url('/raw/fail/gone'))
    tap.equal(gone.status, 410)
    tap.match(await gone.json(), { error: { code: 'HTTP_REFUSED', message: 'it is gone' } })
    const failed = await fetch(world.url('/raw/fail/x'), { headers: { 'x-request-id': 'failed-1' } })
    const text = await failed.text()
    tap.equal(failed.status, 500)
    tap.match(JSON.parse(text), {
      error: { code: 'HTTP_INTERNAL', request_id: 'failed-1', docs: /errors\.md#http_internal$/ }
    })
    tap.notMatch(text, /abc/)
    const line = world.kernel.log.find(each => each.fields.request_id === 'failed-1')
    tap.match(line, { level: 'error', fields: { plugin: 'raw', method: 'GET', path: '/raw/fail/x' } })
  })

  tap.test('are notified when their client disconnects', async tap => {
    const controller = new AbortController()
    const asked = tap.rejects(fetch(world.url('/raw/hang'), { signal: controller.signal }))
    await arrived.opened
    controller.abort()
    tap.match(await disconnected.opened, { principal: { id: 'local' } })
    await asked
  })
})

tap.test('registered routes must match the declared ones', async tap => {
  const more = rawPlugin('more', [{ method: 'GET', path: '/a' }], app => {
    app.get('/a', async () => 'a')
    app.get('/b', async () => 'b')
  })
  await tap.rejects(openWorld([more]), { code: 'HTTP_ROUTES_INVALID', message: /more registers GET \/b/ })
  const less = rawPlugin('less', [{ method: 'GET', path: '/a' }], () => {})
  await tap.rejects(openWorld([less]), { code: 'HTTP_ROUTES_INVALID', message: /less declares GET \/a/ })
  const broken = rawPlugin('broken', [{ method: 'GET', path: '/a' }], () => {
    throw new Error('no disk')
  })
  await tap.rejects(openWorld([broken]), { code: 'HTTP_ROUTES_INVALID', message: /broken failed .*no disk/ })
  const lost = definePlugin({
    name: 'lost',
    activate(ctx) {
      ctx.contribute(httpRoutes, { listener: 'side', routes: [{ method: 'GET', path: '/a' }], register: () => {} })
    }
  }) as Plugin
  await tap.rejects(openWorld([lost]), { code: 'HTTP_LISTENER_UNKNOWN', message: /lost .*"side"/ })
})
