import { type HttpCaller, type HttpHandlerRoute, httpHandlers, httpRoutes, httpUpgrades } from '@svc/contracts'
import { definePlugin, type Plugin, SvcError } from '@svc/plugin-sdk'
import tap from 'tap'
import { type Envelope, gate, openWorld, sendRequest } from './world.ts'

function plugin(name: string, routes: readonly HttpHandlerRoute[]): Plugin {
  return definePlugin({
    name,
    activate(ctx) {
      ctx.contribute(httpHandlers, { routes })
    }
  }) as Plugin
}

tap.test('routes without a framework', async tap => {
  const disconnected = gate<HttpCaller>()
  const arrived = gate()
  const world = await openWorld(
    [
      plugin('direct', [
        {
          method: 'GET',
          path: '/direct/:id/*',
          summary: 'Return the parameters and the query',
          handle: exchange => {
            const { params, query } = exchange
            exchange.send(200, 'application/json', JSON.stringify({ params, query }), { 'x-own': 'yes' })
          }
        },
        {
          method: 'POST',
          path: '/direct/echo',
          handle: exchange => exchange.body(bytes => exchange.send(201, 'application/octet-stream', bytes))
        },
        {
          method: 'POST',
          path: '/direct/small',
          handle: exchange => exchange.body(bytes => exchange.send(200, 'text/plain', String(bytes.length)), 4)
        },
        {
          method: 'GET',
          path: '/direct/fail/:how',
          handle: exchange => {
            const { how } = exchange.params
            if (how === 'coded') throw new SvcError('MINE', 'it is gone', { status: 410 })
            if (how === 'later') exchange.fail(new SvcError('MINE', 'it had ended', { status: 409 }))
            else throw new Error('token=abc')
          }
        },
        {
          method: 'GET',
          path: '/direct/stream',
          handle: exchange => {
            const response = exchange.stream()
            response.writeHead(200, { 'content-type': 'text/event-stream' })
            response.write('data: 1\n\n')
            response.end('data: 2\n\n')
          }
        },
        {
          method: 'GET',
          path: '/direct/hang',
          handle: exchange => {
            exchange.caller.signal.addEventListener('abort', () => disconnected.open(exchange.caller))
            arrived.open()
          }
        },
        {
          method: 'GET',
          path: '/direct/twice',
          handle: exchange => {
            exchange.send(200, 'text/plain', 'täglich')
            exchange.send(500, 'text/plain', 'second')
            exchange.fail(new Error('third'))
          }
        }
      ])
    ],
    { body_limit_bytes: 100 }
  )
  tap.teardown(() => world.close())

  tap.test('receive decoded parameters and the raw query, and may set headers', async tap => {
    const response = await fetch(world.url('/direct/a%20b/c/d?x=1&y=%22z%22'))
    tap.equal(response.status, 200)
    tap.equal(response.headers.get('x-own'), 'yes')
    tap.ok(response.headers.get('x-request-id'))
    tap.same(await response.json(), { params: { id: 'a b', '*': 'c/d' }, query: 'x=1&y=%22z%22' })
  })

  tap.test('receive the bytes of the body, which may be empty', async tap => {
    const sent = new Uint8Array([0, 255, 128])
    const response = await fetch(world.url('/direct/echo'), { method: 'POST', body: sent })
    tap.equal(response.status, 201)
    tap.same(new Uint8Array(await response.arrayBuffer()), sent)
    const empty = await fetch(world.url('/direct/echo'), { method: 'POST' })
    tap.equal((await empty.arrayBuffer()).byteLength, 0)
  })

  tap.test("receive no body above the server's or the route's limit", async tap => {
    for (const [path, size] of [
      ['/direct/echo', 101],
      ['/direct/small', 5]
    ] as const) {
      const response = await fetch(world.url(path), { method: 'POST', body: 'x'.repeat(size) })
      tap.equal(response.status, 413, path)
      tap.equal(((await response.json()) as Envelope).error.code, 'HTTP_BODY_TOO_LARGE')
    }
    const response = await fetch(world.url('/direct/small'), { method: 'POST', body: 'four' })
    tap.equal(await response.text(), '4')
  })

  tap.test('send errors in the shared envelope, and hide internal messages', async tap => {
    const answer = async (how: string): Promise<[number, Envelope['error']]> => {
      const response = await fetch(world.url(`/direct/fail/${how}`))
      return [response.status, ((await response.json()) as Envelope).error]
    }
    tap.match(await answer('coded'), [410, { code: 'MINE', message: 'it is gone' }])
    tap.match(await answer('later'), [409, { code: 'MINE', message: 'it had ended' }])
    const [status, error] = await answer('hidden')
    tap.equal(status, 500)
    tap.equal(error.code, 'HTTP_INTERNAL')
    tap.notMatch(JSON.stringify(error), /token/)
  })

  tap.test('may stream', async tap => {
    const response = await fetch(world.url('/direct/stream'))
    tap.equal(await response.text(), 'data: 1\n\ndata: 2\n\n')
  })

  tap.test('respond only once', async tap => {
    const response = await fetch(world.url('/direct/twice'))
    tap.equal(response.status, 200)
    tap.equal(await response.text(), 'täglich')
  })

  tap.test('are notified when the client disconnects', async tap => {
    const controller = new AbortController()
    const request = fetch(world.url('/direct/hang'), { signal: controller.signal })
    await arrived.opened
    controller.abort()
    await tap.rejects(request)
    tap.ok((await disconnected.opened).signal.aborted)
  })

  tap.test('are in the API description', async tap => {
    const document = (await (await fetch(world.url('/openapi.json'))).json()) as { paths: Record<string, object> }
    tap.match(document.paths['/direct/fail/{how}'], { get: { 'x-plugin': 'direct', parameters: [{ name: 'how' }] } })
  })

  tap.test('conflict with operations and raw routes of other plugins', async tap => {
    const other = plugin('other', [{ method: 'GET', path: '/direct/fail/:name', handle: () => undefined }])
    await tap.rejects(world.kernel.replace(other), { code: 'KRN_CONFLICT' })
    const framework = definePlugin({
      name: 'framework',
      activate(ctx) {
        ctx.contribute(httpRoutes, { routes: [{ method: 'GET', path: '/direct/stream' }], register: () => undefined })
      }
    }) as Plugin
    await tap.rejects(world.kernel.replace(framework), { code: 'HTTP_ROUTE_CONFLICT' })
  })
})

tap.test('routes and websockets with their own authentication', async tap => {
  const callers: HttpCaller[] = []
  const own = definePlugin({
    name: 'own',
    activate(ctx) {
      const handle: HttpHandlerRoute['handle'] = exchange => {
        callers.push(exchange.caller)
        exchange.send(200, 'text/plain', 'own')
      }
      ctx.contribute(httpHandlers, {
        auth: 'own',
        routes: [
          { method: 'GET', path: '/', handle },
          { method: 'GET', path: '/docs', handle }
        ],
        fallback: { handle }
      })
      ctx.contribute(httpHandlers, { routes: [{ method: 'GET', path: '/shared', handle }] })
      ctx.contribute(httpUpgrades, { path: '/own', auth: 'own', handle: (_request, socket) => socket.end('own') })
    }
  }) as Plugin
  const world = await openWorld([own], { token: 'x'.repeat(22) })
  tap.teardown(() => world.close())

  tap.test('need no token, and see an anonymous caller', async tap => {
    for (const path of ['/', '/nowhere']) {
      const response = await fetch(world.url(path))
      tap.equal(response.status, 200, path)
    }
    tap.match(callers, [{ principal: { role: 'anonymous' } }, { principal: { role: 'anonymous' } }])
    tap.equal((await fetch(world.url('/shared'))).status, 401)
    const upgrade = (path: string) =>
      sendRequest(world.port(), `GET ${path}`, ['connection: Upgrade', 'upgrade: websocket'])
    tap.equal(await upgrade('/own'), 'own')
    tap.match(await upgrade('/other'), / 401 /)
  })

  tap.test('see the caller of a valid token', async tap => {
    callers.length = 0
    await fetch(world.url('/'), { headers: { authorization: `Bearer ${'x'.repeat(22)}` } })
    tap.match(callers, [{ principal: { id: 'bearer' } }])
  })

  tap.test('are still checked for Host and Origin', async tap => {
    const foreign = await fetch(world.url('/'), { headers: { origin: 'http://evil.example' } })
    tap.equal(foreign.status, 403)
    tap.match(await sendRequest(world.port(), 'GET /', ['host: evil.example']), / 400 /)
  })

  tap.test('may replace the page /docs', async tap => {
    tap.equal(await (await fetch(world.url('/docs'))).text(), 'own')
    tap.equal((await fetch(world.url('/openapi.json'))).status, 401)
  })
})
