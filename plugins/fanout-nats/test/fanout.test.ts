import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '@nats-io/transport-node'
import { type CoordinationFanout, coordinationFanout } from '@svc/contracts'
import {
  noPostgres,
  PostgresCoordination,
  PostgresServer,
  parseServerAddress
} from '@svc/plugin-coordination-postgres/testing'
import { definePlugin, type Logger } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { connectOptions, NatsFanout } from '#root'
import { NatsServer, noNats } from './nats-server.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger

async function startServer(t: Test, options?: readonly string[]): Promise<NatsServer> {
  const server = await NatsServer.start(options)
  t.teardown(() => server.kill())
  return server
}

/** Opens a fan-out, as another process would. */
function open(t: Test, server: NatsServer, settings: object = {}): NatsFanout {
  const options = connectOptions({ servers: [server.url], subject: 'svc.hints', ...settings }, '/')
  const fanout = new NatsFanout({ connect: () => connect(options), subject: 'svc.hints', log: silent })
  t.teardown(() => fanout.close())
  return fanout
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

/** Publishes until a subscriber receives the hint. */
async function reaches(from: NatsFanout, queue: string, seen: readonly string[]): Promise<void> {
  while (!seen.includes(queue)) {
    from.publish(queue)
    await sleep(10)
  }
}

t.test('hints reach the subscribers of a queue in other processes only', { skip: noNats }, async t => {
  const server = await startServer(t)
  const [own, other] = [open(t, server), open(t, server)]
  await until(() => own.isConnected && other.isConnected)
  const [ownSeen, seen, ended]: [string[], string[], string[]] = [[], [], []]
  own.subscribe(['a b.*.>'], queue => ownSeen.push(queue))
  other.subscribe(['a b.*.>', 'last'], queue => seen.push(queue))
  other.subscribe(['a b.*.>'], queue => ended.push(queue))()
  await reaches(own, 'a b.*.>', seen)
  own.publish('unrelated')
  await reaches(own, 'last', seen)
  t.same(new Set(seen), new Set(['a b.*.>', 'last']))
  t.same([ownSeen, ended], [[], []])
})

t.test('many hints about one queue become few messages', { skip: noNats }, async t => {
  const server = await startServer(t)
  const [own, other] = [open(t, server), open(t, server)]
  await until(() => own.isConnected && other.isConnected)
  const seen: string[] = []
  other.subscribe(['q', 'last'], queue => seen.push(queue))
  await reaches(own, 'q', seen)
  seen.length = 0
  for (let at = 0; at < 10_000; at += 1) own.publish('q')
  await sleep(40)
  await reaches(own, 'last', seen)
  t.ok(seen.length < 10, `${seen.length} hints arrived`)
  t.ok(seen.includes('q'))
})

t.test('hints with another payload are ignored', { skip: noNats }, async t => {
  const server = await startServer(t)
  const [own, other] = [open(t, server), open(t, server)]
  await until(() => own.isConnected && other.isConnected)
  const seen: string[] = []
  other.subscribe(['q', 'settled', 'last'], queue => seen.push(queue))
  const stranger = await connect(connectOptions({ servers: [server.url], subject: 'svc.hints' }, '/'))
  t.teardown(() => stranger.close())
  const subjects: string[] = []
  stranger.subscribe('svc.hints.>', { callback: (_, message) => void subjects.push(message.subject) })
  await stranger.flush()
  await reaches(own, 'q', seen)
  await until(() => subjects.length > 0)
  // A hint can follow another one after 20 ms, here and there.
  await sleep(50)
  await reaches(own, 'settled', seen)
  await sleep(50)
  seen.length = 0
  for (const payload of ['', 'r', 'x'.repeat(100_000)]) stranger.publish(subjects[0] as string, payload)
  await stranger.flush()
  await reaches(own, 'last', seen)
  t.notOk(seen.includes('q'))
})

t.test('subscriptions last over a restart of the server', { skip: noNats }, async t => {
  const server = await startServer(t)
  const [own, other] = [open(t, server), open(t, server)]
  const seen: string[] = []
  other.subscribe(['a', 'b'], queue => seen.push(queue))
  await reaches(own, 'a', seen)
  await server.kill()
  await until(() => !own.isConnected && !other.isConnected)
  own.publish('b')
  await server.up()
  await reaches(own, 'b', seen)
  t.pass('hints arrive again')
})

t.test('connects when the server starts later, and closes without one', { skip: noNats }, async t => {
  const server = await startServer(t)
  await server.kill()
  const [own, other, closed] = [open(t, server), open(t, server), open(t, server)]
  const seen: string[] = []
  other.subscribe(['a'], queue => seen.push(queue))
  own.publish('a')
  await closed.close()
  await server.up()
  await reaches(own, 'a', seen)
  t.notOk(closed.isConnected)
})

t.test('uses a token, and shows it in no log line', { skip: noNats }, async t => {
  const server = await startServer(t, ['--auth', 'hiddenword1'])
  const lines: string[] = []
  const log = { ...silent, warn: (...line: unknown[]) => lines.push(JSON.stringify(line)) } as unknown as Logger
  const options = connectOptions({ servers: [server.url], subject: 's', token: 'hiddenword2' }, '/')
  const refused = new NatsFanout({ connect: () => connect(options), subject: 's', log })
  t.teardown(() => refused.close())
  await until(() => lines.length > 0)
  t.match(lines[0], /Authorization/i)
  t.notMatch(lines.join(), /hiddenword/)
  const fanout = open(t, server, { token: 'hiddenword1' })
  await until(() => fanout.isConnected)
  t.notOk(refused.isConnected)
})

t.test('work goes on by polling when NATS dies', { skip: noNats || noPostgres }, async t => {
  const nats = await startServer(t)
  const postgres = await PostgresServer.start()
  t.teardown(() => postgres.remove())
  const openStore = (fanout: NatsFanout): PostgresCoordination => {
    const address = parseServerAddress({ url: postgres.url(), folder: '/' })
    const store = new PostgresCoordination({ address, connections: 4, fanout, log: silent })
    t.teardown(() => store.close())
    return store
  }
  const [own, other] = [open(t, nats), open(t, nats)]
  const [producer, consumer] = [openStore(own), openStore(other)]
  await until(() => own.isConnected && other.isConnected)

  const done: string[] = []
  let hints = 0
  let wake = (): void => {}
  consumer.hints(['q'], () => {
    hints += 1
    wake()
  })
  const stop = new AbortController()
  const consuming = (async () => {
    while (!stop.signal.aborted) {
      const items = await consumer.claim('q', 'h', { max: 10, leaseMs: 60_000 })
      await consumer.ack(items)
      done.push(...items.map(({ body }) => body))
      const hinted = new Promise<void>(resolve => {
        wake = resolve
      })
      if (items.length === 0) await Promise.race([hinted, sleep(100)])
    }
  })()
  const produce = (body: string) => producer.put([{ queue: 'q', body }])
  await produce('1')
  await until(() => done.includes('1'))
  while (hints === 0) {
    await produce('2')
    await sleep(10)
  }
  await nats.kill()
  await until(() => !own.isConnected && !other.isConnected)
  const before = hints
  for (const body of ['3', '4', '5']) await produce(body)
  await until(() => ['3', '4', '5'].every(body => done.includes(body)))
  t.equal(hints, before, 'no hint arrived')
  stop.abort()
  await consuming
})

t.test('as a plugin, provides the fan-out and reports its connection', { skip: noNats }, async t => {
  const server = await startServer(t)
  const seen: { fanout?: CoordinationFanout } = {}
  const user = definePlugin({
    name: 'user',
    requires: { fanout: coordinationFanout },
    activate(_, { fanout }) {
      seen.fanout = fanout
    }
  })
  const kernel = await testKernel([plugin, user], { settings: { 'fanout-nats': { servers: [server.url] } } })
  t.teardown(() => kernel.close())
  const received: string[] = []
  seen.fanout?.subscribe(['q'], queue => received.push(queue))
  await reaches(open(t, server), 'q', received)
  t.same(new Set(received), new Set(['q']))
})

for (const [problem, settings, path] of [
  ['a token and a user', { token: 'a', user: 'b', password: 'c' }, 'token'],
  ['a user without a password', { user: 'b' }, 'password'],
  ['servers with and without encryption', { servers: ['nats://a', 'tls://b'] }, 'servers']
] satisfies [string, object, string][])
  t.test(`refuses ${problem}`, async t => {
    t.throws(() => connectOptions({ servers: ['nats://a'], subject: 's', ...settings }, '/'), {
      code: 'FNA_SETTINGS_INVALID',
      at: { path: `plugins.fanout-nats.${path}` }
    })
  })

t.test('refuses a server with credentials in its URL', async t => {
  await t.rejects(testKernel([plugin], { settings: { 'fanout-nats': { servers: ['nats://user:word@host'] } } }))
})
