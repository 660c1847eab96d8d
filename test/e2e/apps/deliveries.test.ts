import { createHmac } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { runSvc } from '../run-svc.ts'
import { type Answer, call, checkFiles, checkProgram, type RunningApp, runApp, skip, sqlite } from './running-app.ts'

t.setTimeout(300_000)

const PAYMENTS = Buffer.from('a secret of the payments')
const GITHUB = 'a secret of the repository'
const SETTINGS = `[plugins.app-runtime.auth.webhooks]
PAYMENTS = "whsec_${PAYMENTS.toString('base64')}"
GITHUB = "${GITHUB}"
`

t.test('the service is checked, tested, formatted and built', async t => {
  await checkProgram(t, 'deliveries')
})

/** Sends an event as a server of Standard Webhooks does. */
async function pay(app: string, id: string, content: unknown, at = Date.now(), secret = PAYMENTS): Promise<Answer> {
  const body = JSON.stringify(content)
  const time = String(Math.floor(at / 1000))
  const signature = createHmac('sha256', secret).update(`${id}.${time}.${body}`).digest('base64')
  const headers = { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` }
  return await post(app, '/hooks/payments', body, headers)
}

async function push(app: string, id: string, body: string, secret = GITHUB): Promise<Answer> {
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const headers = { 'x-github-delivery': id, 'x-github-event': 'push', 'x-hub-signature-256': signature }
  return await post(app, '/hooks/github', body, headers)
}

async function post(app: string, path: string, body: string, headers: Record<string, string>): Promise<Answer> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body }
  const response = await fetch(app + path, init)
  return { status: response.status, body: await response.json() }
}

async function createKey({ folder }: RunningApp, ...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await runSvc(folder, ['auth', 'token', 'create', '--subject', ...argv, '--json'])
  if (code !== 0) throw new Error(stderr)
  return (JSON.parse(stdout) as { token: string }).token
}

t.test('signed events are stored once, and programs with keys read and repeat them', async t => {
  const app = await runApp(t, 'deliveries', SETTINGS)
  const paid = { type: 'paid', amount: '12.50' }
  const sent = Date.now()
  t.match(await pay(app.app, 'a', paid, sent), { status: 200, body: 1 })
  t.match(await pay(app.app, 'a', paid, sent), { status: 401, body: { code: 'RUN_UNAUTHORIZED' } })
  // The sender tries once more: with another time, and so another signature.
  const conflict = { status: 409, body: { details: { _tag: 'Conflict', delivery: 'a' } } }
  t.match(await pay(app.app, 'a', paid, sent + 2000), conflict)
  t.match(await pay(app.app, 'b', { type: 'paid', amount: '0.25' }), { status: 200, body: 2 })
  t.match(await push(app.app, 'c', '{"ref":"main"}'), { status: 200, body: 3 })
  t.match(await push(app.app, 'c', '{"ref":"main"}'), { status: 409, body: { details: { delivery: 'c' } } })
  // Wrong, old and missing signatures.
  t.match(await pay(app.app, 'd', paid, Date.now(), Buffer.from('another secret of payments')), { status: 401 })
  t.match(await pay(app.app, 'd', paid, Date.now() - 3_600_000), { status: 401 })
  t.match(await push(app.app, 'd', '{}', 'another secret'), { status: 401 })
  t.match(await post(app.app, '/hooks/github', '{}', {}), { status: 401, body: { code: 'RUN_UNAUTHORIZED' } })

  const reader = await createKey(app, 'reader', '--scopes', 'events.read')
  const operator = await createKey(app, 'operator', '--roles', 'operator')
  t.match(await call(app.app, '/api/query/events'), { status: 401 })
  t.match(await call(app.app, '/api/query/events', undefined, 'no key'), { status: 401 })
  t.match(await call(app.app, '/api/query/events', undefined, operator), { status: 403 })
  t.match(await call(app.app, '/api/query/events', undefined, reader), { body: { items: [{}, {}, {}], next: null } })
  t.match(await call(app.app, '/api/query/events?kind="push"', undefined, reader), { body: { items: [{ _id: 3 }] } })
  t.same((await call(app.app, '/api/query/totals', undefined, reader)).body, [
    { kind: 'paid', events: 2, amount: '12.75' },
    { kind: 'push', events: 1, amount: '0' }
  ])
  const done = async (attempts: number): Promise<void> => {
    const statement = `select count(*) from Event where state = 'done' and attempts = ${attempts}`
    while ((await sqlite(app, statement)) === '0') await wait(50)
  }
  await done(1)
  t.match(await call(app.app, '/api/mutation/repeat', { id: 1 }, reader), { status: 403 })
  t.match(await call(app.app, '/api/mutation/repeat', { id: 1 }, operator), { status: 200, body: null })
  t.match(await call(app.app, '/api/mutation/repeat', { id: 9 }, operator), { status: 404 })
  await done(2)

  // The limits of a key, and of an endpoint for all callers.
  const other = await createKey(app, 'other', '--scopes', 'events.read')
  const statusesOf = async (path: string, count: number, key?: string): Promise<number[]> => {
    const calls = Array.from({ length: count }, () => call(app.app, path, undefined, key))
    return (await Promise.all(calls)).map(({ status }) => status)
  }
  const refused = (await statusesOf('/api/query/events', 30, other)).filter(status => status === 429)
  t.ok(refused.length > 0 && refused.length <= 10, `${refused.length} of 30 calls were refused`)
  t.equal((await call(app.app, '/api/query/events', undefined, reader)).status, 200, 'another key has its own limit')
  t.ok((await statusesOf('/health', 10)).includes(429))

  // A revoked key.
  const { tokens } = JSON.parse((await runSvc(app.folder, ['auth', 'token', 'list', '--json'])).stdout)
  const { id } = tokens.find(({ subject }: { subject: string }) => subject === 'reader')
  t.equal((await runSvc(app.folder, ['auth', 'token', 'revoke', String(id)])).code, 0)
  while ((await call(app.app, '/api/query/totals', undefined, reader)).status !== 401) await wait(50)
  t.notMatch(app.lines.join('\n'), new RegExp(`${reader}|${GITHUB}`), 'the log has no secrets')
  t.match(await sqlite(app, 'select source from Event where _id = 3'), 'github')
  await checkFiles(t, app)
})

t.test('an open page follows the state of the events', { skip }, async t => {
  const app = await runApp(t, 'deliveries', SETTINGS)
  const page = await app.visit('/', 'Visitor')
  await page.getByRole('heading', { name: 'Events' }).waitFor()
  t.equal(await page.getByRole('row').count(), 0)
  t.match(await pay(app.app, 'a', { type: 'paid', amount: '12.50' }), { status: 200, body: 1 })
  await page.getByRole('row', { name: 'paid done 1' }).waitFor()
  t.match(await push(app.app, 'b', '{}'), { status: 200, body: 2 })
  await page.getByRole('row', { name: 'push done 1' }).waitFor()
  const operator = await createKey(app, 'operator', '--roles', 'operator')
  t.match(await call(app.app, '/api/mutation/repeat', { id: 1 }, operator), { status: 200 })
  await page.getByRole('row', { name: 'paid done 2' }).waitFor()
  t.strictSame(await page.getByRole('row').allInnerTexts(), ['push\tdone\t1', 'paid\tdone\t2'])
  t.notMatch(await page.content(), /12\.50/, 'amounts are not public')
  await checkFiles(t, app)
})
