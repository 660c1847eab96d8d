import { once } from 'node:events'
import { type HttpCaller, httpUpgrades } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import tap from 'tap'
import { WebSocket, WebSocketServer } from 'ws'
import { things } from './echo.ts'
import { openWorld, parseResponse, sendBytes } from './world.ts'

/** Returns a plugin that sends `version` to each client, and disconnects all clients when it is replaced. */
function chat(version: number, callers: HttpCaller[] = []): Plugin {
  return definePlugin({
    name: 'chat',
    activate(ctx) {
      const server = new WebSocketServer({ noServer: true })
      ctx.contribute(httpUpgrades, {
        path: '/ws',
        handle(request, socket, head, caller) {
          callers.push(caller)
          server.handleUpgrade(request, socket, head, client => client.send(`version ${version}`))
        }
      })
      ctx.effect('clients', () => {
        for (const client of server.clients) client.close(1012)
      })
    }
  }) as Plugin
}

async function open(url: string): Promise<{ client: WebSocket; greeting: string }> {
  const client = new WebSocket(url.replace('http:', 'ws:'))
  const [data] = await once(client, 'message')
  return { client, greeting: String(data) }
}

const upgrade = (path: string, protocol: string, headers = '') =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade${headers}\r\nupgrade: ${protocol}\r\n`

tap.test('websockets', async tap => {
  const callers: HttpCaller[] = []
  const world = await openWorld([chat(1, callers), things])
  tap.teardown(() => world.close())

  tap.test('reach the plugin of their path, and its new version after a swap', async tap => {
    const first = await open(world.url('/ws?x=1'))
    tap.equal(first.greeting, 'version 1')
    tap.match(callers[0], { principal: { id: 'local' }, requestId: String })
    const closed = once(first.client, 'close')
    await world.kernel.replace(chat(2, callers))
    tap.equal((await closed)[0], 1012)
    const second = await open(world.url('/ws'))
    tap.equal(second.greeting, 'version 2')
    await world.reloadHttp()
    const echoed = once(second.client, 'pong')
    second.client.ping()
    await echoed
    tap.pass('an open websocket survives a reload of the http plugin')
    second.client.terminate()
    while (!callers[1]?.signal.aborted) await new Promise(resolve => setImmediate(resolve))
    tap.pass('the owner is notified when the websocket closes')
  })

  tap.test('are rejected without a handler, and for foreign pages', async tap => {
    const key = 'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
    const nowhere = parseResponse(await sendBytes(world.port(), `${upgrade('/nowhere', 'websocket')}${key}\r\n`))
    tap.equal(nowhere.status, 404)
    tap.match(JSON.parse(nowhere.body), { error: { code: 'HTTP_NOT_FOUND' } })
    const foreign = await sendBytes(
      world.port(),
      `${upgrade('/ws', 'websocket')}${key}origin: https://evil.example\r\n\r\n`
    )
    tap.equal(parseResponse(foreign).status, 403)
  })

  tap.test('two plugins on one path are a conflict', async tap => {
    const other = { ...chat(3), name: 'other' } as Plugin
    await tap.rejects(world.kernel.replace(other), { message: /chat and other|other and chat/ })
    await world.kernel.replace(definePlugin({ name: 'other', activate: () => {} }) as Plugin)
  })
})

tap.test('if a token is set, the handshake requires it', async tap => {
  const world = await openWorld([chat(1)], { token: 'abc' })
  tap.teardown(() => world.close())
  const refused = new WebSocket(world.url('/ws').replace('http:', 'ws:'))
  const [error] = await once(refused, 'error')
  tap.match((error as Error).message, /401/)
  const client = new WebSocket(world.url('/ws').replace('http:', 'ws:'), { headers: { authorization: 'Bearer abc' } })
  await once(client, 'message')
  client.terminate()
})

tap.test('an open websocket does not delay shutdown, and is closed', async tap => {
  const world = await openWorld([chat(1)], { drain_ms: 60_000 })
  const { client } = await open(world.url('/ws'))
  const closed = once(client, 'close')
  await world.close()
  tap.equal((await closed)[0], 1012)
})

tap.test('an upgrade to another protocol is served as a plain request', async tap => {
  const world = await openWorld([things])
  tap.teardown(() => world.close())
  const settings = 'http2-settings: AAMAAABkAAQAAP__\r\n'
  const next = 'GET /v1/things/8 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
  const answers = await sendBytes(
    world.port(),
    `${upgrade('/v1/things/7', 'h2c', ', HTTP2-Settings')}${settings}\r\n${next}`
  )
  tap.match(answers, /^HTTP\/1.1 200 OK[\s\S]*"id":"7"[\s\S]*HTTP\/1.1 200 OK[\s\S]*"id":"8"/)
  const body = '{"title":"kept"}'
  const post = `POST /v1/things HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade, close\r\nupgrade: h2c\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`
  tap.match(await sendBytes(world.port(), post, body), /^HTTP\/1.1 200 OK[\s\S]*{"title":"kept"}$/)
})
