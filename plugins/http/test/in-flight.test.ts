import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { httpRoutes, type KernelPort, kernelPort } from '@svc/contracts'
import { type Call, defineOperation, definePlugin, type Plugin, t } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import tap, { type Test } from 'tap'
import { gate, openWorld, parseResponse, sendBytes, type World } from './world.ts'

const work = defineOperation({
  id: 'work.do',
  summary: 'Do what the input says',
  input: t.object({ how: t.string(), size: t.optional(t.integer()) }),
  output: t.unknown(),
  events: t.unknown(),
  errors: { WRK_TIRED: { message: 'Too tired.', status: 409 } },
  effect: 'read',
  expose: { http: { method: 'GET', path: '/v1/work/:how' } }
})
const take = defineOperation({
  id: 'work.take',
  summary: 'Accept a body and return nothing',
  input: t.object({ text: t.optional(t.string()) }),
  output: t.unknown(),
  expose: { http: { method: 'POST', path: '/v1/work', status: 204 } }
})

type Do = (input: { how: string; size?: number | undefined }, call: Call<any, any>) => unknown

function worker(handler: Do, held?: object): Plugin {
  return definePlugin({
    name: 'work',
    operations: [work, take],
    activate(ctx) {
      ctx.implement(work, (async (input: never, call: never) => handler(input, call) ?? held) as never)
      ctx.implement(take, (() => null) as never)
      ctx.contribute(httpRoutes, {
        routes: [
          { method: 'GET', path: '/raw' },
          { method: 'GET', path: '/raw/own' }
        ],
        register(app) {
          const scope = app as FastifyInstance
          scope.get('/raw', async () => (held === undefined ? 'raw' : 'held'))
          scope.get('/raw/own', (_request, reply) => {
            reply.hijack()
            reply.raw.end('mine')
          })
        }
      })
    }
  }) as Plugin
}

interface Watched extends World {
  /** Returns the number of calls in flight in the plugin. */
  inFlight(): number | undefined
}

async function watch(plugin: Plugin, settings: object = {}): Promise<Watched> {
  let port: KernelPort | undefined
  const watcher = definePlugin({
    name: 'watcher',
    requires: { kernel: kernelPort },
    activate(_ctx, { kernel }) {
      port = kernel
    }
  }) as Plugin
  const world = await openWorld([plugin, watcher], settings)
  return Object.assign(Object.create(world) as World, {
    inFlight: () => port?.current.units.get('work')?.inFlight
  })
}

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`

/** Returns the number of requests by status, of all routes except /metrics. */
async function counted(tap: Test, world: World): Promise<Record<string, number>> {
  const text = await (await fetch(world.url('/metrics'))).text()
  const statuses: Record<string, number> = {}
  for (const [, route, status = '', count] of text.matchAll(
    /^svc_http_requests_total\{.*route="(.*)",status="(\d+)"\} (\d+)$/gm
  )) {
    if (route !== '/metrics') statuses[status] = (statuses[status] ?? 0) + Number(count)
  }
  tap.match(text, /^svc_http_requests_in_flight 1$/m, 'only this request is in flight')
  return statuses
}

tap.test('counts every request once at its start and once at its end', async tap => {
  const world = await watch(
    worker(({ how }, call) => {
      if (how === 'refuse') call.fail('WRK_TIRED')
      if (how === 'break') throw new Error('broken')
      if (how === 'unprintable') return 1n
      return how
    })
  )
  tap.teardown(() => world.close())
  const ways: [number, string, RequestInit?][] = [
    [200, '/v1/work/well'],
    [200, '/v1/work/well', { method: 'HEAD' }],
    [200, '/v1/work/well', { headers: { accept: 'text/event-stream' } }],
    [409, '/v1/work/refuse'],
    [409, '/v1/work/refuse', { headers: { accept: 'text/event-stream' } }],
    [500, '/v1/work/break'],
    [500, '/v1/work/unprintable'],
    [400, '/v1/work/well?size=x'],
    [404, '/v1/work/'],
    [404, '/nothing'],
    [405, '/v1/work/well', { method: 'DELETE' }],
    [204, '/v1/work/well', { method: 'OPTIONS' }],
    [204, '/v1/work', { method: 'POST' }],
    [204, '/v1/work', { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }],
    [400, '/v1/work', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } }],
    [415, '/v1/work', { method: 'POST', body: 'x' }],
    [200, '/raw'],
    [200, '/raw/own'],
    [200, '/health']
  ]
  const expected: Record<string, number> = {}
  for (const [status, path, init] of ways) {
    const response = await fetch(world.url(path), init)
    await response.text()
    tap.equal(response.status, status, `${init?.method ?? 'GET'} ${path}`)
    expected[status] = (expected[status] ?? 0) + 1
  }
  const last = get('/raw').replace('host', 'connection: close\r\nhost')
  const answers = await sendBytes(
    world.port(),
    get('/v1/work/well') + get('/raw') + get('/v1/work/well') + get('/health') + last
  )
  tap.equal(answers.split('HTTP/1.1 200 OK').length - 1, 5, 'pipelined requests are answered')
  expected[200] = (expected[200] as number) + 5
  while (world.inFlight() !== 0) await turn()
  tap.same(await counted(tap, world), expected)
})

tap.test('a client that disconnects cancels all its requests, and each is counted once', async tap => {
  const begun: Call<any, any>[] = []
  const release = gate()
  const world = await watch(
    worker(async (_input, call) => {
      begun.push(call)
      call.signal.addEventListener('abort', () => {})
      await release.opened
      return 'too late'
    })
  )
  tap.teardown(() => world.close())
  const socket = connect(world.port(), '127.0.0.1')
  // The later responses are ready, and wait for the first one.
  socket.write(get('/v1/work/first') + get('/v1/work/second') + get('/raw') + get('/v1/nothing'))
  while (begun.length < 2) await turn()
  socket.destroy()
  for (const call of begun) if (!call.signal.aborted) await once(call.signal, 'abort')
  tap.match(
    begun.map(call => call.signal.reason),
    [{ code: 'OPR_CANCELLED' }, { code: 'OPR_CANCELLED' }]
  )
  release.open()
  while (world.inFlight() !== 0) await turn()
  const { 499: gone, ...others } = await counted(tap, world)
  tap.equal(gone, 2, 'requests without a response are cancelled')
  tap.same(others, { 200: 1, 404: 1 }, 'requests whose response was ready keep their status')
})

tap.test('a request that ends in the middle of its body is counted as ended', async tap => {
  const world = await watch(worker(() => 'never'))
  tap.teardown(() => world.close())
  const socket = connect(world.port(), '127.0.0.1')
  socket.write(
    'POST /v1/work HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"te'
  )
  while (world.inFlight() !== 1) await turn()
  socket.destroy()
  while (world.inFlight() !== 0) await turn()
  tap.same(await counted(tap, world), { 499: 1 })
})

tap.test('an idle connection holds no reference to its last request', async tap => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const world = await watch(worker(() => undefined, { text: 'held' }))
  tap.teardown(() => world.close())
  const held = await (async () => {
    const mine = { text: 'mine' }
    await world.kernel.replace(worker(() => undefined, mine))
    return new WeakRef(mine)
  })()
  const idle: Socket[] = []
  for (const request of [get('/v1/work/x'), get('/raw'), get('/v1/work/x') + get('/raw') + get('/v1/work/x')]) {
    const socket = connect(world.port(), '127.0.0.1').setEncoding('utf8')
    let answers = ''
    socket.write(request)
    while (answers.split('HTTP/1.1 200').length < request.split('GET').length)
      answers += (await once(socket, 'data'))[0]
    idle.push(socket)
  }
  tap.teardown(() => idle.forEach(socket => void socket.destroy()))
  await world.kernel.replace(worker(() => undefined))
  for (let tries = 0; tries < 100 && held.deref() !== undefined; tries++) {
    await turn()
    collectGarbage()
  }
  tap.equal(held.deref(), undefined)
  tap.equal(idle.filter(socket => socket.closed).length, 0, 'idle connections stay open')
})

tap.test('shutdown does not cut off a response that is being sent', async tap => {
  const size = 20_000_000
  const world = await watch(
    worker(({ size = 0 }) => 'x'.repeat(size)),
    { drain_ms: 20_000 }
  )
  const port = world.port()
  const slow = [get(`/v1/work/x?size=${size}`), get(`/v1/work/x?size=${size}`) + get(`/v1/work/x?size=${size}`)].map(
    request => {
      const socket = connect(port, '127.0.0.1').pause()
      socket.write(request)
      return { socket, answers: request.split('GET').length - 1 }
    }
  )
  for (const { socket } of slow) await once(socket, 'readable')
  while (world.inFlight() !== 0 && world.inFlight() !== 1) await turn()
  const closed = world.close()
  for (const { socket, answers } of slow) {
    let received = ''
    socket.setEncoding('latin1').on('data', chunk => {
      received += chunk
    })
    await once(socket, 'close')
    const [first = '', second] = received.split(/(?<=x")(?=HTTP)/)
    tap.equal(parseResponse(first).body.length, size + 2)
    if (answers === 2) tap.equal(parseResponse(second ?? '').body.length, size + 2)
  }
  await closed
})
