import { createHmac } from 'node:crypto'
import t from 'tap'
import { type WebhookProblem, Webhooks } from '#auth'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { call } from './guarded-app.ts'

const SECRET = 'a secret of a webhook'
const BODY = '{ "n":  1 }'

const sign = (text: string, key: string | Buffer = SECRET) => createHmac('sha256', key).update(text)

const github = (body = BODY) => ({ 'x-hub-signature-256': `sha256=${sign(body).digest('hex')}` })
const stripe = (seconds: number, body = BODY) => {
  const right = sign(`${seconds}.${body}`).digest('hex')
  return { 'stripe-signature': `t=${seconds},v1=${'0'.repeat(64)},v1=${right},v0=1` }
}
const generic = (seconds: number, key: string | Buffer = SECRET, body = BODY) => ({
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(seconds),
  'webhook-signature': `v1,${sign(`msg_1.${seconds}.${body}`, key).digest('base64')} v1a,other`
})

t.test('signatures are checked over the raw body, with their time, and each delivery once', t => {
  const now = 1_700_000_000
  const webhooks = new Webhooks(
    { S: SECRET, W: `whsec_${Buffer.from('0123456789abcdef').toString('base64')}` },
    () => now * 1000
  )
  const problem = (
    provider: 'github' | 'stripe' | 'generic',
    headers: object,
    body = BODY,
    secret = 'S'
  ): WebhookProblem | null => webhooks.problemOf({ provider, secret }, headers as never, Buffer.from(body))
  t.equal(problem('github', github()), null)
  t.equal(problem('github', github(), '{"n":1}'), 'wrong')
  t.equal(problem('github', {}), 'unsigned')
  t.equal(problem('github', { 'x-hub-signature-256': 'sha256=00' }), 'unsigned')
  t.equal(problem('github', { 'x-hub-signature': 'sha1=00' }), 'unsigned')
  t.equal(problem('stripe', stripe(now)), null)
  t.equal(problem('stripe', stripe(now)), 'repeated')
  t.equal(problem('stripe', stripe(now - 299)), null)
  t.equal(problem('stripe', stripe(now - 301)), 'outdated')
  t.equal(problem('stripe', stripe(now + 301)), 'outdated')
  t.equal(problem('stripe', stripe(now), `${BODY} `), 'wrong')
  t.equal(problem('stripe', { 'stripe-signature': 't=1' }), 'unsigned')
  t.equal(problem('generic', generic(now)), null)
  t.equal(problem('generic', generic(now)), 'repeated')
  t.equal(problem('generic', { ...generic(now - 1), 'webhook-id': 'msg_2' }), 'wrong')
  t.equal(problem('generic', generic(now - 400)), 'outdated')
  t.equal(problem('generic', generic(now - 2, Buffer.from('0123456789abcdef')), BODY, 'W'), null)
  t.end()
})

const SOURCE = `
@webhook(provider: github, secret: "HOOK") http post "/hook" to str { request.text() }
@webhook(provider: stripe, secret: "HOOK") @mutation fn paid(n: int) to int { n }
@webhook(provider: github, secret: "HOOK") http post "/upload"(file: File) to int { file.size }
@webhook(secret: "MISSING") http post "/other" to str { "" }
`

t.test('a webhook reaches its function with a valid signature only', async t => {
  const app = await serveInProcess(t, SOURCE, { set: [`plugins.app-runtime.auth.webhooks={ HOOK = "${SECRET}" }`] })
  t.match(await call(app, 'POST /hook', github(), BODY), { status: 200, body: BODY })
  for (const headers of [{}, github('{}')])
    t.match(await call(app, 'POST /hook', headers, BODY), { status: 401, body: { code: 'RUN_UNAUTHORIZED' } })
  const form = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nabc\r\n--b--\r\n'
  const isForm = { 'content-type': 'multipart/form-data; boundary=b' }
  t.match(await call(app, 'POST /upload', { ...github(form), ...isForm }, form), { status: 200, body: 3 })
  t.match(await call(app, 'POST /upload', { ...github(), ...isForm }, form), { status: 401 })
  const now = Math.floor(Date.now() / 1000)
  t.match(await call(app, 'POST /api/mutation/paid', stripe(now), BODY), { status: 200, body: 1 })
  t.match(await call(app, 'POST /api/mutation/paid', stripe(now), BODY), { status: 401 }, 'a replay')
  const refused = await call(app, 'POST /other', generic(now), BODY)
  t.match(refused, { status: 503, body: { code: 'RUN_AUTH_UNAVAILABLE' } }, 'without its secret, the route is closed')
})
