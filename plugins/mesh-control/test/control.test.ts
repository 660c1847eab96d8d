import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Coordination } from '@svc/contracts'
import { definePlugin, type Plugin, SvcError } from '@svc/plugin-sdk'
import { assertNoLeaks } from '@svc/plugin-sdk/testing'
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import control from '#plugin'
import { clientAddresses, HostGuard, InboxWaiters, RateLimit } from '#root'
import { MESH_TOKEN, message, nodeReport, openWorld } from './world.ts'

/** A store whose methods fail or hang on demand. */
class Faults {
  mode: 'ok' | 'unavailable' | 'hang' | 'broken' = 'ok'

  readonly wrap = (store: Coordination): Coordination => {
    const fail = (): Promise<never> => {
      if (this.mode === 'hang') return new Promise(() => {})
      return Promise.reject(
        this.mode === 'broken' ? new Error('secret detail') : new SvcError('CRD_UNAVAILABLE', 'gone', { status: 503 })
      )
    }
    const guarded = (target: object): object =>
      new Proxy(target, {
        get: (on, key) => {
          const value = Reflect.get(on, key) as unknown
          if (key === 'nodes' || key === 'meta') return guarded(value as object)
          if (typeof value !== 'function') return value
          return (...args: unknown[]) =>
            this.mode === 'ok' || key === 'hints' || key === 'close' ? value.apply(on, args) : fail()
        }
      })
    return guarded(store) as Coordination
  }
}

t.test('a store that does not respond makes requests and /ready answer 503, and recovers', async t => {
  const faults = new Faults()
  const { get, post, join } = await openWorld(t, { wrap: faults.wrap })
  // On a busy machine, the store may not respond in time at first.
  let ready = await get('/ready', { base: '' })
  while (ready.status === 503) ready = await get('/ready', { base: '' })
  t.match(ready, { status: 200, text: 'ready\n' })
  await join('n1')
  faults.mode = 'unavailable'
  t.match(await get('/ready', { base: '' }), { status: 503, text: /^mesh: the store does not respond/ })
  const reply = await post('/a2a/deliver', message('7'))
  t.match(reply, { status: 503, text: 'mesh: the store does not respond; try again' })
  t.equal(reply.headers.get('retry-after'), '1')
  t.match(await get('/health', { base: '' }), { status: 200, text: 'ok\n' }, 'the process itself responds')
  faults.mode = 'hang'
  t.equal((await get('/ready', { base: '' })).status, 503)
  faults.mode = 'ok'
  t.equal((await post('/a2a/deliver', message('7'))).status, 200)
  t.equal((await get('/nodes')).status, 200, 'a failed list is not kept')
})

t.test('an unexpected failure is logged, and its reason stays inside', async t => {
  const faults = new Faults()
  const { post, kernel } = await openWorld(t, { wrap: faults.wrap })
  faults.mode = 'broken'
  const reply = await post('/a2a/deliver', message('7'))
  t.equal(reply.status, 500)
  t.match(reply.text, /^mesh: /)
  t.notMatch(reply.text, /secret detail/)
  t.ok(kernel.log.some(({ message }) => message === 'a request of the mesh failed'))
})

t.test('while svc stops, /ready answers 503 and requests are still served', async t => {
  const { get, kernel } = await openWorld(t, { control: { drain_ms: 3_000 } })
  const closing = kernel.close()
  await delay(50)
  t.match(await get('/ready', { base: '' }), { status: 503, text: 'mesh: the control plane is stopping' })
  t.equal((await get('/nodes')).status, 200)
  await closing
  await t.rejects(get('/nodes'))
})

t.test('/metrics is not served to every caller, and other paths and methods are refused', async t => {
  const { get, post } = await openWorld(t)
  t.equal((await get('/metrics', { base: '' })).status, 404)
  t.equal((await get('/', { base: '' })).status, 404)
  const wrong = await post('/nodes', {})
  t.equal(wrong.status, 405)
  t.match(wrong.headers.get('allow'), /GET/)
})

t.test('the rate limit counts over two control planes on one store', async t => {
  const folder = temporary(t)
  const control = { http_rate_limit: true, http_rate_limit_per_sec: 1, http_rate_limit_burst: 6 }
  const options = { control, coordination: { file: join(folder, 'shared.db') } }
  const [a, b] = [await openWorld(t, options), await openWorld(t, options)]
  const begun = performance.now()
  let served = 0
  let limited = await a.get('/nodes')
  for (let index = 0; limited.status === 200 && index < 50; index += 1) {
    served += 1
    limited = await (index % 2 === 0 ? b : a).get('/nodes')
  }
  const seconds = (performance.now() - begun) / 1_000
  t.ok(served >= 6, `the burst, ${served}`)
  t.ok(served <= 6 + seconds + 1, `${served} requests in ${seconds} s`)
  t.match(limited, { status: 429, text: 'mesh: rate limit exceeded (max 1 requests/second)' })
  t.equal(limited.headers.get('retry-after'), '1')
  t.equal((await a.get('/health', { base: '' })).status, 200, 'probes are not limited')
})

t.test('the limit grants exactly its tokens, in blocks, also to concurrent requests', async t => {
  let left = 25
  let calls = 0
  const store = {
    takeTokens: async (_bucket: string, { wanted }: { readonly wanted: number }) => {
      calls += 1
      await delay(1)
      const taken = Math.min(left, wanted)
      left -= taken
      return taken
    }
  }
  let now = 0
  const limit = new RateLimit({ perSecond: 100, burst: 200, store: () => store, now: () => now })
  const outcomes = await Promise.allSettled(Array.from({ length: 40 }, () => limit.take('c')))
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 25)
  t.ok(calls <= 5, `${calls} calls for 40 requests`)
  await t.rejects(limit.take('c'), { code: 'MSC_RATE_LIMITED' })
  const before = calls
  await t.rejects(limit.take('c'), { code: 'MSC_RATE_LIMITED' })
  t.equal(calls, before, 'an empty bucket is not asked again at once')
  left = 5
  now += 11
  await limit.take('c')
  await t.rejects(
    new RateLimit({
      perSecond: 1,
      burst: 1,
      store: () => ({
        takeTokens: async () => {
          throw new Error('down')
        }
      })
    }).take('c'),
    /down/
  )
})

const request = (remoteAddress: string, forwarded?: string): IncomingMessage =>
  ({
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    socket: { remoteAddress }
  }) as unknown as IncomingMessage

t.test('only trusted proxies name the client', async t => {
  const plain = clientAddresses([])
  t.equal(plain.keyOf(request('10.0.0.1', '1.2.3.4')), '10.0.0.1')
  const behind = clientAddresses(['10.0.0.0/8', '::1'])
  t.equal(behind.keyOf(request('10.0.0.1', '1.2.3.4')), '1.2.3.4')
  t.equal(behind.keyOf(request('::ffff:10.0.0.1', '1.2.3.4:555')), '1.2.3.4')
  t.equal(
    behind.keyOf(request('10.0.0.1', '6.6.6.6, 1.2.3.4, 10.9.9.9')),
    '1.2.3.4',
    'not the one that the client wrote'
  )
  t.equal(behind.keyOf(request('::1', '[2001:db8::1]:80')), '2001:db8:0:0::/64')
  t.equal(behind.keyOf(request('1.2.3.4', '5.6.7.8')), '1.2.3.4')
  t.equal(behind.keyOf(request('10.0.0.1', 'unknown')), '10.0.0.1')
  t.equal(behind.keyOf(request('10.0.0.1', 'x, 10.0.0.2')), '10.0.0.2')
  t.equal(behind.keyOf(request('10.0.0.1')), '10.0.0.1')
  for (const wrong of ['10.0.0.0/33', 'host', '10.0.0.0/8/8', '::1/129', '10.0.0.0/', ''])
    t.throws(() => clientAddresses([wrong]), { code: 'MSC_SETTINGS_INVALID' }, wrong)
})

t.test('names that DNS can point anywhere are refused unless a token protects the control plane', async t => {
  const asked = (host: string | undefined, origin?: string): IncomingMessage =>
    ({ headers: { host, origin } }) as unknown as IncomingMessage
  const open = new HostGuard({ host: '0.0.0.0', allowedHosts: [], hasTokens: false })
  open.admit(asked('192.168.1.5:9847'))
  open.admit(asked('[fe80::1]:9847'))
  open.admit(asked('localhost'))
  t.throws(() => open.admit(asked('mesh.example.org')), { code: 'MSC_HOST_DENIED' })
  t.throws(() => open.admit(asked('1.2.3.4.evil.example')), { code: 'MSC_HOST_DENIED' })
  t.throws(() => open.admit(asked(undefined)), { code: 'MSC_HOST_DENIED' })
  open.admit(asked(undefined), { isCheck: true })
  t.throws(() => open.admit(asked('mesh.example.org'), { isCheck: true }), { code: 'MSC_HOST_DENIED' })
  t.throws(() => open.admit(asked(undefined, 'https://evil.example'), { isCheck: true }), { code: 'MSC_ORIGIN_DENIED' })
  const named = new HostGuard({ host: '0.0.0.0', allowedHosts: ['Mesh.example.org'], hasTokens: true })
  named.admit(asked('mesh.EXAMPLE.org:80'))
  t.throws(() => named.admit(asked('other.example.org')), { code: 'MSC_HOST_DENIED' })
  const guarded = new HostGuard({ host: '0.0.0.0', allowedHosts: [], hasTokens: true })
  guarded.admit(asked('mesh.example.org'))
  t.throws(() => guarded.admit(asked('mesh.example.org', 'http://mesh.example.org')), { code: 'MSC_ORIGIN_DENIED' })
  const local = new HostGuard({ host: '127.0.0.1', allowedHosts: [], hasTokens: true })
  t.throws(() => local.admit(asked('mesh.example.org')), { code: 'MSC_HOST_DENIED' })
})

t.test('settings that cannot be used stop the control plane, and name no secret', async t => {
  const failure = await openWorld(t, { control: { worker_result_verify_key: 'secret-key' } }).then(
    () => null,
    (error: Error) => error
  )
  t.match(failure?.message, /SVC_MESH_WORKER_RESULT_VERIFY_KEY is not a key/)
  t.notMatch(failure?.message, /secret-key/)
  await t.rejects(openWorld(t, { control: { trusted_proxies: ['proxy'] } }), { message: /trusted_proxies/ })
})

t.test('two control planes on one store see the same nodes, leases, messages and used tokens', async t => {
  const file = join(temporary(t), 'shared.db')
  const secret = 'jwt-secret-0123456789abcdefghijklmnop'
  const options = { coordination: { file }, mesh: { token: MESH_TOKEN }, control: { jwt_hmac_secret: secret } }
  const [a, b] = [await openWorld(t, options), await openWorld(t, options)]
  const token = { token: MESH_TOKEN }
  for (const id of ['n1', 'n2']) await a.join(id)
  t.match((await b.get('/nodes', token)).json?.nodes, [{ id: 'n1' }, { id: 'n2' }])
  const grants = await Promise.all(
    [a, b, a, b].map((world, index) =>
      world.post('/exec/lease/grant', { claimer_node_id: index % 2 === 0 ? 'n1' : 'n2', scope_key: 'k' }, token)
    )
  )
  const granted = grants.filter(({ status }) => status === 200).map(({ json }) => json?.holder_node_id)
  t.equal(new Set(granted).size, 1, 'one holder')
  t.ok(grants.some(({ status }) => status === 409))
  const id = (await a.post('/a2a/deliver', message('7', { idempotency_key: 'k' }), token)).json?.message_id
  t.equal((await b.post('/a2a/deliver', message('7', { idempotency_key: 'k' }), token)).json?.message_id, id)
  const claims = await Promise.all(
    [a, b].map((world, index) =>
      world.post('/a2a/inbox', { receiver_agent_id: '7', claimer_node_id: `n${index + 1}` }, token)
    )
  )
  t.same(claims.map(({ json }) => json?.messages.length).sort(), [0, 1])
  const jwt = await new SignJWT({ role: 'mesh' })
    .setProtectedHeader({ alg: 'HS256' })
    .setJti('once')
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(secret))
  const uses = await Promise.all([a.get('/nodes', { token: jwt }), b.get('/nodes', { token: jwt })])
  t.same(uses.map(({ status }) => status).sort(), [200, 401])
})

t.test('a request that waits at one control plane receives a message that another one stored', async t => {
  const coordination = { file: join(temporary(t), 'shared.db') }
  const [a, b] = [await openWorld(t, { coordination }), await openWorld(t, { coordination })]
  await a.join('n1')
  const waiting = b.post('/a2a/inbox', { receiver_agent_id: '7', claimer_node_id: 'n1', wait_ms: 25_000 })
  await b.waiting(1)
  const id = (await a.post('/a2a/deliver', message('7'))).json?.message_id
  t.match((await waiting).json?.messages, [{ id, lease_holder_node_id: 'n1' }])
})

t.test('a reload ends waiting requests without a message, and fails no request', async t => {
  const world = await openWorld(t)
  await world.join('n1')
  const waiting = world.post('/a2a/inbox', { receiver_agent_id: '7', claimer_node_id: 'n1', wait_ms: 25_000 })
  await world.waiting(1)
  const others = Array.from({ length: 20 }, (_, index) => delay(index * 5).then(() => world.get('/nodes')))
  await world.kernel.replace(definePlugin({ ...control }) as Plugin)
  t.same((await waiting).json, { messages: [] })
  t.ok((await Promise.all(others)).every(({ status }) => status === 200))
  const id = (await world.post('/a2a/deliver', message('7'))).json?.message_id
  t.match((await world.post('/a2a/inbox', { receiver_agent_id: '7', claimer_node_id: 'n1' })).json?.messages, [{ id }])
})

t.test('nothing is left after the control plane has stopped', async t => {
  await assertNoLeaks(async () => {
    const world = await openWorld(t)
    await world.join('n1')
    await world.post('/a2a/inbox', { receiver_agent_id: '7', claimer_node_id: 'n1', wait_ms: 300 })
    await world.kernel.close()
  })
})

t.test('older files are imported once; invalid entries and files are reported', async t => {
  const folder = temporary(t)
  const write = (name: string, content: unknown): string => {
    const path = join(folder, name)
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  const later = Date.now() + 600_000
  const control = {
    registry_path: write('registry.json', {
      schema_version: 1,
      nodes: [{ ...nodeReport('n1'), quarantined: true }, { ...nodeReport('n2'), pool_id: 'p' }, { id: 5 }]
    }),
    a2a_store_path: write('a2a.json', {
      messages: [
        { ...message('7'), id: 3, created_unix_ms: 1, acknowledged: false },
        { ...message('7'), id: 4, created_unix_ms: 1, acknowledged: true },
        { ...message('x'), id: 5 },
        7
      ]
    }),
    exec_lease_store_path: write('leases.json', {
      leases: [
        { lease_id: '1', scope_key: 'live', holder_node_id: 'n2', expires_unix_ms: later },
        { lease_id: '2', scope_key: 'old', holder_node_id: 'n2', expires_unix_ms: 1 },
        { lease_id: '3', scope_key: 'lost', holder_node_id: 'gone', expires_unix_ms: later }
      ]
    }),
    replay_state_path: write('replay.json', '{"jti":')
  }
  const coordination = { file: join(folder, 'store.db') }
  const first = await openWorld(t, { control, coordination })
  await until(() => first.kernel.log.some(({ message }) => message.startsWith('cannot import')))
  t.match((await first.get('/nodes')).json?.nodes, [
    { id: 'n1', quarantined: true },
    { id: 'n2', pool_id: 'p' }
  ])
  t.match((await first.post('/a2a/inbox', { receiver_agent_id: '7' })).json?.messages, [{ payload: '{"a":1}' }])
  t.match((await first.get('/exec/leases')).json?.leases, [{ scope_key: 'live', holder_node_id: 'n2' }])
  t.match(
    first.kernel.log.find(({ message }) => message.startsWith('cannot import')),
    { level: 'error', message: /replay\.json/ }
  )
  await first.post('/leave', { id: 'n2' })
  await first.kernel.close()
  write('replay.json', { jti: { used: Math.floor(later / 1_000) } })
  const second = await openWorld(t, { control, coordination })
  await until(() => second.kernel.log.some(({ message }) => message.includes('replay.json')))
  t.same(
    (await second.get('/nodes')).json?.nodes.map(({ id }: { readonly id: string }) => id),
    ['n1']
  )
})

t.test('a request that waits never loses a message that its attempt took', async t => {
  let open = (): void => {}
  const slow = new Promise<void>(resolve => {
    open = resolve
  })
  let hint = (): void => {}
  const store = {
    ready: async () => [],
    hints: (_queues: readonly string[], on: (queue: string) => void) => {
      hint = () => on('q')
      return () => undefined
    }
  }
  const waiters = new InboxWaiters(() => store)
  const attempt = async () => {
    await slow
    return { answer: 'the message', group: 'g' }
  }
  const controller = new AbortController()
  const waiting = waiters.wait('q', { waitMs: 60_000, signal: controller.signal, group: 'g', attempt })
  hint()
  await delay(1)
  controller.abort()
  waiters.close()
  open()
  t.equal(await waiting, 'the message')
  t.equal(waiters.size, 0)
  t.equal(await waiters.wait('q', { waitMs: 60_000, signal: new AbortController().signal, group: 'g', attempt }), null)
})

t.test('an attempt that fails ends only its own wait', async t => {
  let hint = (): void => {}
  const store = {
    ready: async () => ['q'],
    hints: (_queues: readonly string[], on: (queue: string) => void) => {
      hint = () => on('q')
      return () => undefined
    }
  }
  const waiters = new InboxWaiters(() => store)
  const { signal } = new AbortController()
  const failing = waiters.wait('q', {
    waitMs: 60_000,
    signal,
    group: 'a',
    attempt: async () => {
      throw new Error('gone')
    }
  })
  const fine = waiters.wait('q', {
    waitMs: 60_000,
    signal,
    group: 'b',
    attempt: async () => ({ answer: 'm', group: 'b' })
  })
  hint()
  await t.rejects(failing, /gone/)
  t.equal(await fine, 'm')
})

function temporary(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mesh-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await delay(20)
}

t.test('balancers check /ready and /health without a Host header; other routes need one', async t => {
  const { port } = await openWorld(t, { mesh: { token: MESH_TOKEN } })
  const statusOf = async (path: string): Promise<string | undefined> => {
    const socket = connect(port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.0\r\n\r\n`)
    return (await text(socket)).split(' ')[1]
  }
  let ready = await statusOf('/ready')
  while (ready === '503') ready = await statusOf('/ready')
  t.equal(ready, '200')
  t.equal(await statusOf('/health'), '200')
  t.equal(await statusOf('/v1/mesh/nodes'), '403')
})
