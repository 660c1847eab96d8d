import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { type ServedApp, serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { SET } from '../auth/guarded-app.ts'
import { ownToken } from '../auth/tokens.ts'

t.setTimeout(300_000)

const SOURCE = `
@table type Item { owner: str }
@query @auth fn mine() to str {
    request.user.id + " " + str(db.Item.all().live("items").filter(fn(item) { item.owner is request.user.id }).len())
}
@mutation @public fn add(owner: str) { db.Item.insert({ owner: owner }) }
`

interface Failure {
  readonly status: number
  readonly message: string
}
interface Connection {
  token: string | (() => string | Promise<string>)
  reconnect?: () => void
}
type Follow = (args: object, onValue: (value: string) => void, onError: (error: Failure) => void) => () => void

/** Follows the query with a client that has no cookie. */
async function follow(t: Test, app: ServedApp, token: Connection['token']) {
  const file = join(app.folder, 'client.ts')
  writeFileSync(file, await (await fetch(`${app.url}/api/client.ts`)).text())
  const { createClient } = (await import(pathToFileURL(file).href)) as {
    createClient(to: object): { readonly mine: { readonly live: Follow } }
  }
  const sockets: WebSocket[] = []
  class KnownSocket extends WebSocket {
    constructor(...args: ConstructorParameters<typeof WebSocket>) {
      super(...args)
      sockets.push(this)
    }
  }
  const ended: number[] = []
  const changes: unknown[] = []
  const connection = {
    baseUrl: app.url,
    WebSocket: KnownSocket,
    token,
    onUnauthorized: ({ status }: Failure) => void ended.push(status),
    onChange: new Set([(isOtherCaller?: boolean) => void changes.push(isOtherCaller)])
  } as Connection & { readonly onChange: Set<(isOtherCaller?: boolean) => void> }
  const values: string[] = []
  const failures: Failure[] = []
  t.teardown(
    createClient(connection).mine.live(
      {},
      value => values.push(value),
      error => failures.push(error)
    )
  )
  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await sleep(10)
  }
  const value = async (expected: string): Promise<void> => {
    await until(() => values.at(-1) === expected)
    t.pass(expected)
  }
  return { connection, sockets, ended, changes, values, failures, until, value }
}

const add = (app: ServedApp, owner: string): Promise<unknown> => app.post('/api/mutation/add', { owner })

/** Creates a key that counts until it is revoked. */
const keyOf = (app: ServedApp): Promise<{ readonly id: string; readonly token: string }> =>
  app.call('auth.token.create', { subject: 'ann', roles: [] })

t.test('a live query goes on with a fresh token when the one of its websocket has ended', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const first = await keyOf(app)
  const tokens = [first.token, await ownToken()]
  let calls = 0
  const client = await follow(t, app, () => Promise.resolve(tokens[Math.min(calls++, 1)] as string))
  await client.value('ann 0')
  await app.call('auth.token.revoke', { id: first.id })
  await add(app, 'ann')
  await client.value('ann 1')
  t.same(client.failures, [])
  t.same([client.ended, client.changes], [[], []])
  t.equal(calls, 2)
  await add(app, 'ann')
  await client.value('ann 2')
})

t.test('a live query whose token has ended for good ends with status 401, and its data counts no longer', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const { id, token } = await keyOf(app)
  const client = await follow(t, app, token)
  await client.value('ann 0')
  await app.call('auth.token.revoke', { id })
  await client.until(() => client.failures.length > 0)
  t.match(client.failures, [{ status: 401 }])
  t.same([client.ended, client.changes], [[401], [true]])
  t.same(client.values, ['ann 0'])
})

t.test('a lost websocket is opened again with the token of then, also if that fails at first', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const token = await ownToken()
  let failing = 0
  const client = await follow(t, app, async () => {
    if (failing-- > 0) throw new Error('the issuer is busy')
    return token
  })
  await client.value('ann 0')
  failing = 1
  client.sockets[0]?.terminate()
  await add(app, 'ann')
  await client.value('ann 1')
  t.match(client.failures, [{ status: 0 }, { status: 0, message: /token of the connection.*the issuer is busy/ }])
  t.equal(client.sockets.length, 3)
})

t.test('a token of another user counts after reconnect', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  await add(app, 'ben')
  const client = await follow(t, app, await ownToken())
  await client.value('ann 0')
  client.connection.token = await ownToken({ sub: 'ben' })
  client.connection.reconnect?.()
  await client.value('ben 1')
  client.connection.token = 'nonsense'
  client.connection.reconnect?.()
  await client.until(() => client.failures.length > 0)
  t.match(client.failures, [{ status: 401 }])
  client.connection.token = await ownToken()
  client.connection.reconnect?.()
  await client.value('ann 0')
})
