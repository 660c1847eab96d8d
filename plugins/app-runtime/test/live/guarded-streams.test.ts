import t, { type Test } from 'tap'
import { SET } from '../auth/guarded-app.ts'
import { ownToken } from '../auth/tokens.ts'
import { clientOf, NOTES, PASSWORD, serveNotes, signUp } from '../auth/users-app.ts'
import { listen } from './event-client.ts'
import { connect, type SocketClient } from './socket-client.ts'

t.setTimeout(300_000)

const SOURCE = `${NOTES}
@table type News { title: str }
@table type Wage { amount: int }
@query @auth fn own() to List[str] { db.Note.all().live("notes").map(fn(note) { note.body }) }
@table type Secret { text: str }
@table type Shared { text: str }
fn secrets() to List[str] { db.Secret.all().live("secrets").map(fn(each) { each.text }) }
@server @role("admin") fn all_secrets() to List[str] { secrets() }
@mutation @auth fn count_secrets() to int { len(secrets()) + db.Secret.all().live("shared").count() }
@mutation @public fn share(text: str) { db.Shared.insert({ text: text }) }
@mutation @public fn hide(text: str) { db.Secret.insert({ text: text }) }
@query @public fn shared() to int { db.Shared.all().live("shared").count() + db.Secret.count() }
@query @public fn news() to List[str] { db.News.all().live("news").map(fn(item) { item.title }) }
@query @role("admin") fn wages() to List[int] { db.Wage.all().live("wages").map(fn(wage) { wage.amount }) }
@query @auth fn paid() to int { db.Wage.all().live("wages").count() }
@query @public fn seen() to str { request.header("x-name").unwrap_or("-") + " " + str(db.News.all().live("news").count()) }
@query @public @rate_limit(by: ip, per: "1h", max: 2) fn few() to int { db.News.all().live("news").count() }
@mutation @public fn report(title: str) { db.News.insert({ title: title }) }
@mutation @public fn pay(amount: int) { db.Wage.insert({ amount: amount }) }
`

async function openApp(t: Test) {
  const app = await serveNotes(t, SOURCE, SET)
  const socket = async (headers: Record<string, string> = {}): Promise<SocketClient> => {
    const client = await connect(`${app.url}/api/live`, { headers })
    t.teardown(() => client.close())
    return client
  }
  /** Opens the websocket of a page of the application. */
  const page = (cookie: string | null): Promise<SocketClient> => socket({ cookie: cookie ?? '', origin: app.url })
  return { app, socket, page }
}

async function watch(client: SocketClient, query: string, id = 1): Promise<unknown> {
  client.send({ watch: id, query })
  const { value, code } = await client.next()
  return value ?? code
}

t.test('each user gets the own rows, over one query, and the changes of others send nothing', async t => {
  const { app, page } = await openApp(t)
  const [ann, ben] = [await signUp(app, 'ann'), await signUp(app, 'ben')]
  const [ofAnn, ofBen] = [await page(ann.cookie), await page(ben.cookie)]
  t.same(await watch(ofAnn, 'own'), ['welcome ann'])
  t.same(await watch(ofBen, 'own'), ['welcome ben'])
  await ann.post('/api/mutation/add_note', { body: 'secret' })
  t.same((await ofAnn.next()).value, ['welcome ann', 'secret'])
  await ben.post('/api/mutation/add_note', { body: 'mine' })
  t.same((await ofBen.next()).value, ['welcome ben', 'mine'])
})

t.test('a query is refused without a proof, with a wrong one, and from a page of another origin', async t => {
  const { app, socket, page } = await openApp(t)
  const ann = await signUp(app, 'ann')
  const cookie = ann.cookie ?? ''
  t.equal(await watch(await page(null), 'own'), 'RUN_UNAUTHORIZED')
  t.equal(await watch(await page('vox=vxs_wrong'), 'own'), 'RUN_UNAUTHORIZED')
  t.equal(await watch(await socket({ cookie }), 'own'), 'RUN_UNAUTHORIZED', 'a cookie without an origin')
  t.equal(await watch(await page(ann.cookie), 'wages'), 'RUN_FORBIDDEN')
  await t.rejects(socket({ cookie, origin: 'http://localhost:9' }), /403/)
  const events = await fetch(`${app.url}/api/live/query/own`)
  t.equal(events.status, 401)
  t.ok(events.headers.get('www-authenticate'))
  const allowed = await listen(`${app.url}/api/live/query/own`, { cookie })
  t.equal(((await allowed.events.next()).value as { data: string }).data, '["welcome ann"]')
  allowed.close()
})

t.test('a token in the first message counts for what follows it', async t => {
  const { socket } = await openApp(t)
  const client = await socket()
  t.equal(await watch(client, 'paid'), 'RUN_UNAUTHORIZED')
  client.send({ auth: await ownToken() })
  t.equal(await watch(client, 'paid'), 0)
  t.equal(await watch(client, 'wages', 2), 'RUN_FORBIDDEN')
  client.send({ auth: await ownToken({ roles: ['admin'] }) })
  t.same(await watch(client, 'wages', 2), [])
  client.send({ auth: 'nonsense' })
  t.equal(await watch(client, 'wages', 3), 'RUN_UNAUTHORIZED')
})

t.test('the end of a session ends its streams at once, and no others', async t => {
  const { app, page } = await openApp(t)
  const [ann, ben] = [await signUp(app, 'ann'), await signUp(app, 'ben')]
  const other = clientOf(app)
  await other.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })
  const [ofAnn, ofOther, ofBen] = [await page(ann.cookie), await page(other.cookie), await page(ben.cookie)]
  for (const each of [ofAnn, ofOther, ofBen]) t.equal(await watch(each, 'paid'), 0)
  const events = await listen(`${app.url}/api/live/query/paid`, { cookie: ann.cookie ?? '' })
  await events.events.next()
  await ann.post('/api/auth/sign_out')
  t.match(await ofAnn.next(), { watch: 1, ended: true, status: 401, code: 'RUN_UNAUTHORIZED' })
  const last = (await events.events.next()).value as { event: string; data: string }
  t.equal(last.event, 'error')
  t.match(JSON.parse(last.data), { code: 'RUN_UNAUTHORIZED' })
  await ben.post('/api/mutation/pay', { amount: 5 })
  for (const each of [ofOther, ofBen]) t.equal((await each.next()).value, 1)
  t.equal(await watch(ofAnn, 'paid', 2), 'RUN_UNAUTHORIZED')
})

t.test('a changed password ends the streams of all sessions, and an ended session those of one', async t => {
  const { app, page } = await openApp(t)
  const [ann, ben] = [await signUp(app, 'ann'), await signUp(app, 'ben')]
  const laptop = clientOf(app)
  await laptop.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })
  const [ofAnn, ofLaptop, ofBen] = [await page(ann.cookie), await page(laptop.cookie), await page(ben.cookie)]
  for (const each of [ofAnn, ofLaptop, ofBen]) t.ok(await watch(each, 'own'))
  const sessions = (await ann.get('/api/auth/sessions')).body as { id: string; is_current: boolean }[]
  await ann.post('/api/auth/end_session', { id: sessions.find(each => !each.is_current)?.id })
  t.match(await ofLaptop.next(), { watch: 1, ended: true, status: 401 })
  await ann.post('/api/mutation/add_note', { body: 'second' })
  t.same((await ofAnn.next()).value, ['welcome ann', 'second'])
  await ann.post('/api/auth/password', { current: PASSWORD, password: `${PASSWORD} 2` })
  t.match(await ofAnn.next(), { watch: 1, ended: true, status: 401 })
  await ben.post('/api/mutation/add_note', { body: 'mine' })
  t.same((await ofBen.next()).value, ['welcome ben', 'mine'])
  t.same(await watch(await page(ann.cookie), 'own'), ['welcome ann', 'second'], 'the page has a new session')
})

t.test('a revoked API key ends its queries and topics at once', async t => {
  const { app, socket } = await openApp(t)
  const key = await app.call('auth.token.create', { subject: 'robot', roles: ['admin'] })
  const client = await socket({ authorization: `Bearer ${key.token}` })
  t.same(await watch(client, 'wages'), [])
  client.send({ subscribe: 'wages' })
  t.match(await client.next(), { subscribed: 'wages' })
  const topic = await listen(`${app.url}/api/live/wages`, { authorization: `Bearer ${key.token}` })
  t.equal(((await topic.events.next()).value as { event: string }).event, 'ready')
  await app.call('auth.token.revoke', { id: key.id })
  const ended = [await client.next(), await client.next()]
  t.match(
    ended.find(each => 'watch' in each),
    { watch: 1, ended: true, status: 401 }
  )
  t.match(
    ended.find(each => 'topic' in each),
    { topic: 'wages', code: 'RUN_UNAUTHORIZED' }
  )
  const last = (await topic.events.next()).value as { event: string; data: string }
  t.match(JSON.parse(last.data), { code: 'RUN_UNAUTHORIZED' })
})

t.test('a topic has the guards of all queries that name it', async t => {
  const { app, socket, page } = await openApp(t)
  const ann = await signUp(app, 'ann')
  const subscribe = async (client: SocketClient, topic: string): Promise<unknown> => {
    client.send({ subscribe: topic })
    const { subscribed, code } = await client.next()
    return subscribed ?? code
  }
  const open = await socket()
  t.equal(await subscribe(open, 'News'), 'News')
  for (const topic of ['wages', 'Wage']) {
    t.equal(await subscribe(open, topic), 'RUN_UNAUTHORIZED', topic)
    t.equal(await subscribe(await page(ann.cookie), topic), 'RUN_FORBIDDEN', topic)
    t.equal((await fetch(`${app.url}/api/live/${topic}`)).status, 401)
  }
  const admin = await socket()
  admin.send({ auth: await ownToken({ roles: ['admin'] }) })
  t.equal(await subscribe(admin, 'wages'), 'wages')
  await ann.post('/api/mutation/pay', { amount: 1 })
  t.match(await admin.next(), { topic: 'wages', op: 'insert' })
  for (const topic of ['notes', 'Note']) {
    t.equal(await subscribe(admin, topic), 'RUN_LIVE_UNKNOWN', 'a table with row rules announces nothing')
  }
})

t.test('only a query with .live makes a topic, of the tables that it marks', async t => {
  const { app, socket, page } = await openApp(t)
  const ann = await signUp(app, 'ann')
  const [anonymous, user, admin] = [await socket(), await page(ann.cookie), await socket()]
  admin.send({ auth: await ownToken({ roles: ['admin'] }) })
  for (const client of [anonymous, user, admin]) {
    for (const topic of ['secrets', 'Secret', 'secret']) {
      client.send({ subscribe: topic })
      t.match(await client.next(), { code: 'RUN_LIVE_UNKNOWN', topic })
    }
    client.send({ subscribe: 'shared' })
    t.match(await client.next(), { subscribed: 'shared' })
  }
  for (const topic of ['secrets', 'Secret']) t.equal((await fetch(`${app.url}/api/live/${topic}`)).status, 404, topic)
  t.equal(await watch(anonymous, 'shared'), 0)
  await ann.post('/api/mutation/hide', { text: 'x' })
  t.match(await anonymous.next(), { watch: 1, value: 1 }, 'a query follows all tables that it reads')
  await ann.post('/api/mutation/share', { text: 'x' })
  for (const client of [user, admin]) t.match(await client.next(), { topic: 'shared', table: 'Shared' })
})

t.test('a query that reads the request runs for each connection, and limits count', async t => {
  const { socket } = await openApp(t)
  const [a, b] = [await socket({ 'x-name': 'a' }), await socket({ 'x-name': 'b' })]
  t.equal(await watch(a, 'seen'), 'a 0')
  t.equal(await watch(b, 'seen'), 'b 0')
  t.equal(await watch(a, 'few', 2), 0)
  t.equal(await watch(b, 'few', 2), 0)
  t.equal(await watch(b, 'few', 3), 'RUN_RATE_LIMITED')
})
