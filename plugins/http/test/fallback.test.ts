import { httpHandlers, httpListeners } from '@svc/contracts'
import { definePlugin, type Plugin, SvcError } from '@svc/plugin-sdk'
import tap from 'tap'
import { openWorld, sendBytes } from './world.ts'

const PLAIN = definePlugin({
  name: 'plain',
  activate(ctx) {
    ctx.contribute(httpListeners, { name: 'own', host: '127.0.0.1', port: 0, setting: 'plain.port', errors: 'plain' })
    ctx.contribute(httpHandlers, {
      listener: 'own',
      routes: [
        { method: 'POST', path: '/made/:id', handle: exchange => exchange.send(200, 'text/plain', 'made') },
        {
          method: 'GET',
          path: '/fails',
          handle: exchange => exchange.fail(new SvcError('MINE', 'no', { status: 409, data: { a: 1 }, hint: 'wait' }))
        },
        {
          method: 'GET',
          path: '/broken',
          handle: () => {
            throw new Error('token=abc')
          }
        }
      ],
      fallback: {
        handle(exchange, allowed) {
          const { method } = exchange.request
          exchange.send(200, 'application/json', JSON.stringify({ method, query: exchange.query, allowed: allowed() }))
        }
      }
    })
  }
}) as Plugin

tap.test('the fallback receives unmatched requests, with the allowed methods of the path', async tap => {
  const world = await openWorld([PLAIN])
  tap.teardown(() => world.close())
  const ask = async (method: string, path: string): Promise<unknown> =>
    (await fetch(world.url(path, 'own'), { method })).json()
  tap.same(await ask('GET', '/any/where?a=1'), { method: 'GET', query: 'a=1', allowed: [] })
  tap.same(await ask('DELETE', '/made/1'), { method: 'DELETE', query: '', allowed: ['POST', 'OPTIONS'] })
  tap.same(await ask('OPTIONS', '/any'), { method: 'OPTIONS', query: '', allowed: [] })
  tap.same(await ask('PUT', '/fails'), { method: 'PUT', query: '', allowed: ['GET', 'HEAD', 'OPTIONS'] })
  const options = await fetch(world.url('/made/1', 'own'), { method: 'OPTIONS' })
  tap.equal(options.headers.get('allow'), 'POST, OPTIONS', 'requests that match a route do not reach the fallback')
  tap.equal(await (await fetch(world.url('/made/1', 'own'), { method: 'POST' })).text(), 'made')
})

tap.test('a listener sends all errors in one format', async tap => {
  const world = await openWorld([PLAIN])
  tap.teardown(() => world.close())
  const port = world.port('own')
  const head = 'GET /fails HTTP/1.1\r\nconnection: close\r\n'
  tap.match(
    await sendBytes(port, `${head}host: 127.0.0.1\r\n\r\n`),
    '{"error":"no","code":"MINE","details":{"a":1},"hint":"wait","request_id":'
  )
  const broken = await (await fetch(world.url('/broken', 'own'))).json()
  tap.match(broken, { error: /request id/, code: 'HTTP_INTERNAL' })
  tap.match(await sendBytes(port, `${head}host: elsewhere.invalid\r\n\r\n`), '{"error":"this server does not serve')
  tap.match(await sendBytes(port, 'no http\r\n\r\n'), '{"error":"the request is not valid HTTP')
  await world.reloadHttp()
  tap.match(await sendBytes(world.port('own'), 'no http\r\n\r\n'), '{"error":"the request is not valid HTTP')
  const main = (await (await fetch(world.url('/nothing'))).json()) as object
  tap.match(main, { error: { code: 'HTTP_NOT_FOUND' } }, 'other listeners keep their format')
})

tap.test('two fallbacks on one listener are a conflict', async tap => {
  const other = definePlugin({
    name: 'other',
    activate(ctx) {
      ctx.contribute(httpHandlers, { listener: 'own', routes: [], fallback: { handle: () => undefined } })
    }
  }) as Plugin
  await tap.rejects(openWorld([PLAIN, other]), /fallback/)
})
