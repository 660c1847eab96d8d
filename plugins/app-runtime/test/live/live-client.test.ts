import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { descriptionOf } from '@svc/plugin-compiler/testing'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { programFrom } from '../run-program.ts'
import { openLiveWorld, SOURCE } from './live-world.ts'

type Titles = readonly string[]
interface Failure {
  readonly status: number
  readonly message: string
}
interface LiveQuery {
  live(args: object, onValue: (value: Titles) => void, onError?: (error: Failure) => void): () => void
}
interface ClientModule {
  createClient(to: object): { readonly notes: LiveQuery; readonly others: LiveQuery; readonly silent: object }
}

const folder = mkdtempSync(join(tmpdir(), 'client-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'client.ts')
writeFileSync(file, descriptionOf(programFrom(SOURCE)).client)
const { createClient } = (await import(pathToFileURL(file).href)) as ClientModule

/** Number of opened sockets. */
let sockets = 0
class CountedSocket extends WebSocket {
  constructor(...args: ConstructorParameters<typeof WebSocket>) {
    super(...args)
    sockets += 1
  }
}

async function openClient(t: Test) {
  const opened = await openLiveWorld()
  t.teardown(() => opened.world.close())
  sockets = 0
  return { ...opened, client: createClient({ baseUrl: opened.world.url(''), WebSocket: CountedSocket }) }
}

/** Collects values and failures of a live query. */
function follow(query: LiveQuery, args: object) {
  const values: Titles[] = []
  const failures: number[] = []
  let wake = (): void => undefined
  const end = query.live(
    args,
    value => {
      values.push(value)
      wake()
    },
    ({ status }) => {
      failures.push(status)
      wake()
    }
  )
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  return { values, failures, end, until }
}

t.test('a query that is not live has no function live', async t => {
  const { client } = await openClient(t)
  t.equal('live' in client.silent, false)
  t.equal('live' in client.notes, true)
})

t.test('followers get the value and each later one, over one websocket and with one run per change', async t => {
  const { client, store, runs } = await openClient(t)
  const [first, second, other] = [
    follow(client.notes, { min: 0 }),
    follow(client.notes, { min: 0 }),
    follow(client.others, {})
  ]
  for (const each of [first, second, other]) await each.until(() => each.values.length === 1)
  await store.execute("INSERT INTO note (title) VALUES ('a')")
  for (const each of [first, second]) await each.until(() => each.values.length === 2)
  const late = follow(client.notes, { min: 0 })
  await late.until(() => late.values.length === 1)
  t.same([first.values, second.values, late.values], [[[], ['a']], [[], ['a']], [['a']]])
  t.equal(sockets, 1)
  t.equal(runs(), 3, 'two first runs and one for the change')
  for (const { end } of [first, second]) end()
  await store.execute("INSERT INTO note (title) VALUES ('b')")
  await late.until(() => late.values.length === 2)
  t.equal(first.values.length, 2, 'an ended follower gets nothing')
  late.end()
  other.end()
})

t.test('a lost connection is reported, connected again, and followed by a fresh value', async t => {
  const { client, store, world, plugin } = await openClient(t)
  const followed = follow(client.notes, { min: 0 })
  await followed.until(() => followed.values.length === 1)
  await world.kernel.replace(plugin())
  await store.execute("INSERT INTO note (title) VALUES ('missed')")
  await followed.until(() => followed.values.length === 2)
  t.same(followed.failures, [0])
  t.same(followed.values.at(-1), ['missed'])
  t.equal(sockets, 2)
  followed.end()
})

t.test('an error of the caller ends the query, and one of the server is retried', async t => {
  const { client, fail, runs } = await openClient(t)
  const wrong = follow(client.notes, { min: 'x' })
  await wrong.until(() => wrong.failures.length === 1)
  t.same(wrong.failures, [400])
  const before = runs()
  await sleep(700)
  t.equal(runs(), before)
  fail(2)
  const busy = follow(client.notes, { min: 0 })
  await busy.until(() => busy.values.length === 1)
  t.same(busy.failures, [503, 503])
  busy.end()
})

t.test('a platform without WebSocket is reported with what to do', async t => {
  const own = Object.getOwnPropertyDescriptor(globalThis, 'WebSocket')
  if (own !== undefined) {
    Reflect.deleteProperty(globalThis, 'WebSocket')
    t.teardown(() => Object.defineProperty(globalThis, 'WebSocket', own))
  }
  const failure = await new Promise<Failure>(resolve => {
    createClient({ baseUrl: 'http://127.0.0.1:9' }).notes.live({ owner: 1 }, () => undefined, resolve)
  })
  t.match(failure, { status: 0, message: /no WebSocket: set the WebSocket of voxClient/ })
})
