import { Agent, request as nodeRequest } from 'node:http'
import { httpRoutes } from '@svc/contracts'
import { type Call, defineOperation, definePlugin, type Plugin, t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import tap from 'tap'
import { operationPlugin, things } from './echo.ts'
import { gate, openWorld, type World } from './world.ts'

const which = defineOperation({
  id: 'which.version',
  summary: 'Return the version',
  effect: 'read',
  input: t.object({ wait: t.boolean({ default: false }) }),
  output: t.object({ version: t.integer() }),
  events: t.unknown(),
  expose: { http: { method: 'GET', path: '/v1/version' } }
})

/** Returns a plugin with an operation and a raw route that return `version`; `wait` delays the response. */
function versioned(version: number, waiting?: Promise<void>, log: string[] = []): Plugin {
  return definePlugin({
    name: 'which',
    operations: [which],
    activate(ctx) {
      let open = true
      ctx.effect('database', () => {
        open = false
        log.push(`disposed ${version}`)
      })
      const use = (): { version: number } => {
        if (!open) throw new Error('used after disposal')
        return { version }
      }
      ctx.implement(which, async ({ wait }, call: Call<any, any>) => {
        call.emit('started')
        if (wait) await waiting
        return use()
      })
      ctx.contribute(httpRoutes, {
        routes: [{ method: 'GET', path: '/raw/version' }],
        register(app) {
          const scope = app as FastifyInstance
          scope.addHook('onClose', async () => {
            use()
            log.push(`closed ${version}`)
          })
          scope.get('/raw/version', async request => {
            if ((request.query as { wait?: string }).wait !== undefined) await waiting
            return use()
          })
        }
      })
    }
  }) as Plugin
}

const get = async (world: World, path: string): Promise<any> => (await fetch(world.url(path))).json()

tap.test('a swap under load fails no request', async tap => {
  const log: string[] = []
  let version = 0
  const world = await openWorld([versioned(version, undefined, log), things])
  tap.teardown(() => world.close())
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  tap.teardown(() => agent.destroy())
  const sockets = new Set<unknown>()
  let stop = false
  let answered = 0
  const ask = (path: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const request = nodeRequest(world.url(path), { agent }, response => {
        let text = ''
        response.on('data', chunk => {
          text += chunk
        })
        response.on('end', () =>
          response.statusCode === 200 ? resolve(JSON.parse(text).version) : reject(new Error(text))
        )
      })
      request.on('socket', socket => sockets.add(socket))
      request.on('error', reject).end()
    })
  const client = async (path: string): Promise<void> => {
    let last = 0
    while (!stop) {
      const seen = await ask(path)
      if (seen < last) throw new Error(`went back from ${last} to ${seen}`)
      last = seen
      answered += 1
    }
  }
  const clients = Promise.all([
    client('/v1/version'),
    client('/v1/version'),
    client('/raw/version'),
    client('/raw/version')
  ])
  const swaps = (async () => {
    while (version < 40) {
      const enough = answered + 100
      while (answered < enough) await new Promise(resolve => setImmediate(resolve))
      version += 1
      await world.kernel.replace(versioned(version, undefined, log))
      if (version % 10 === 0) await world.reloadHttp()
    }
    stop = true
  })()
  await Promise.all([clients, swaps])
  tap.ok(answered >= 4_000, `${answered} requests during ${version} swaps`)
  tap.equal(sockets.size, 4, 'no connection was lost')
  tap.equal((await get(world, '/v1/version')).version, version)
  const disposed = (): number => log.filter(line => line.startsWith('disposed')).length
  while (disposed() < version) await new Promise(resolve => setImmediate(resolve))
  tap.pass('every old unit was disposed')
})

tap.test('requests in flight end on their own generation', async tap => {
  const held = gate()
  const log: string[] = []
  const world = await openWorld([versioned(1, held.opened, log)])
  tap.teardown(() => world.close())
  const operation = get(world, '/v1/version?wait=true')
  const raw = get(world, '/raw/version?wait')
  const stream = await fetch(world.url('/v1/version?wait=true'), { headers: { accept: 'text/event-stream' } })

  await world.kernel.replace(versioned(2, held.opened, log))
  tap.equal((await get(world, '/v1/version')).version, 2)
  tap.equal((await get(world, '/raw/version')).version, 2)
  tap.same(log, [], 'the old unit stays open while requests are in flight')

  held.open()
  tap.equal((await operation).version, 1)
  tap.equal((await raw).version, 1)
  tap.match(await stream.text(), /event: result\ndata: {"version":1}/)
  await world.kernel.replace(versioned(3))
  while (!log.includes('disposed 2')) await new Promise(resolve => setImmediate(resolve))
  tap.same(
    log.filter(line => line.endsWith('1')),
    ['closed 1', 'disposed 1'],
    'routes are closed before the resources that they use'
  )
})

tap.test('the http plugin reloads under an open stream and an idle connection', async tap => {
  const held = gate()
  const world = await openWorld([versioned(1, held.opened)])
  tap.teardown(() => world.close())
  const { url } = world.addresses[0] as { url: string }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  tap.teardown(() => agent.destroy())
  const ports = new Set<number | undefined>()
  const ask = (): Promise<void> =>
    new Promise((resolve, reject) => {
      nodeRequest(`${url}/v1/version`, { agent }, response => {
        ports.add(response.socket.localPort)
        response.resume().on('end', resolve)
      })
        .on('error', reject)
        .end()
    })
  await ask()
  const stream = await fetch(`${url}/v1/version?wait=true`, { headers: { accept: 'text/event-stream' } })
  await world.reloadHttp()
  await ask()
  tap.equal(ports.size, 1, 'the connection stayed open')
  tap.equal(world.addresses[0]?.url, url, 'the port stayed the same')
  held.open()
  tap.match(await stream.text(), /event: result/)
})

tap.test('a route conflict fails the change, names both plugins and keeps the old table', async tap => {
  const world = await openWorld([versioned(1)])
  tap.teardown(() => world.close())
  const thief = definePlugin({
    name: 'thief',
    activate(ctx) {
      ctx.contribute(httpRoutes, {
        routes: [{ method: 'GET', path: '/v1/version' }],
        register: app => void (app as FastifyInstance).get('/v1/version', async () => 'mine')
      })
    }
  }) as Plugin
  await tap.rejects(world.kernel.replace(thief), { message: /which and thief/ })
  tap.same(await get(world, '/v1/version'), { version: 1 })
  await world.kernel.replace(definePlugin({ name: 'thief', activate: () => {} }) as Plugin)

  const health = defineOperation({ ...which, id: 'sick.health', expose: { http: { method: 'GET', path: '/health' } } })
  await tap.rejects(world.kernel.replace(operationPlugin('sick', health, () => ({ version: 9 }))), {
    code: 'HTTP_ROUTE_CONFLICT',
    message: /http and sick both serve GET \/health/
  })
  tap.match(await get(world, '/health'), { status: 'ok' })
})

tap.test('routes that differ only in parameter names conflict', async tap => {
  const other = (path: string): Plugin => {
    const operation = defineOperation({
      id: 'other.thing',
      summary: 'Something else',
      effect: 'read',
      input: t.object({ name: t.string() }),
      output: t.unknown(),
      expose: { http: { method: 'GET', path } }
    })
    return operationPlugin('other', operation, input => input)
  }
  const world = await openWorld([things])
  tap.teardown(() => world.close())
  await tap.rejects(world.kernel.replace(other('/v1/things/:name')), { message: /(things and other|other and things)/ })
  await world.kernel.replace(other('/v1/other/:name'))
  tap.same(await get(world, '/v1/other/x'), { name: 'x' })
})
