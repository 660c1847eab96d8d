import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { bearer, call, SET } from './guarded-app.ts'
import { openIssuer, ownToken, SECRET } from './tokens.ts'

const SOURCE = `
@auth @query fn whoami() to str { request.user.id + " " + request.user.provider }
@role("admin") @query fn admin() to str { request.user.id }
@public @query fn open() to int { 1 }
@public http get "/authorization" to str { request.header("authorization").unwrap_or("-") }
`

t.test('a token is refused with alg none, a confused algorithm, another audience, and before its time', async t => {
  const issuer = await openIssuer(t)
  const issuers = `[{ issuer = "https://issuer.example", audience = "app", jwks = "${issuer.url}", id_prefix = "x:", roles_claim = "realm.roles" }]`
  const set = [...SET, `plugins.app-runtime.auth.issuers=${issuers}`, 'plugins.app-runtime.auth.audience="own"']
  const app = await serveInProcess(t, SOURCE, { set })
  const status = async (token: string): Promise<number> =>
    (await call(app, 'GET /api/query/whoami', bearer(token))).status
  t.match(await call(app, 'GET /api/query/whoami', bearer(await issuer.sign())), { status: 200, body: 'x:bob jwt' })
  t.equal(
    (await call(app, 'GET /api/query/admin', bearer(await issuer.sign({ realm: { roles: ['admin'] } })))).status,
    200
  )
  const now = Math.floor(Date.now() / 1000)
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: 'https://issuer.example', aud: 'app', sub: 'bob', exp: now + 600 }
  const refused = {
    'alg none': `${encode({ alg: 'none' })}.${encode(claims)}.`,
    'alg none with a signature': `${encode({ alg: 'none' })}.${encode(claims)}.AAAA`,
    'HS256 with the public key': await ownToken(claims, issuer.publicText),
    'HS256 with the own secret for the issuer': await ownToken(claims),
    'another audience of the issuer': await issuer.sign({ aud: 'another' }),
    'no audience of the issuer': await issuer.sign({ aud: undefined }),
    'another issuer': await issuer.sign({ iss: 'https://evil.example' }),
    'before its time': await issuer.sign({ nbf: now + 600 }),
    expired: await issuer.sign({ exp: now - 60 }),
    'no expiry': await issuer.sign({ exp: undefined }),
    'no subject': await issuer.sign({ sub: undefined }),
    'another audience of the own secret': await ownToken({ aud: 'another' }),
    'no audience of the own secret': await ownToken(),
    'HS512 of the own secret': await ownToken({ aud: 'own' }, `${SECRET}${SECRET}`, 'HS512'),
    'three words': 'a.b.c',
    rubbish: 'rubbish'
  }
  for (const [name, token] of Object.entries(refused)) t.equal(await status(token), 401, name)
  t.equal(await status(await ownToken({ aud: 'own' })), 200)
})

t.test('without a secret in the settings, one is made for its owner only, and kept', async t => {
  const app = await serveInProcess(t, SOURCE)
  const file = join(app.folder, '.vox', 'auth-secret')
  t.equal(statSync(file).mode & 0o777, 0o600)
  const secret = readFileSync(file, 'utf8')
  const token = bearer(await ownToken({}, secret))
  t.match(await call(app, 'GET /api/query/whoami', token), { status: 200, body: 'ann jwt' })
  await app.close()
  const again = await serveInProcess(t, SOURCE, { folder: app.folder })
  t.equal(readFileSync(file, 'utf8'), secret)
  t.match(await call(again, 'GET /api/query/whoami', token), { status: 200 })
})

t.test(
  'the token of the service opens the listener, but proves no identity, and is hidden from the program',
  async t => {
    const set = [...SET, 'plugins.http.token="the-token-of-the-service"']
    const app = await serveInProcess(t, SOURCE, { set })
    const service = bearer('the-token-of-the-service')
    t.equal((await call(app, 'GET /api/query/open')).status, 401)
    t.equal((await call(app, 'GET /api/query/open', service)).status, 200)
    t.equal((await call(app, 'GET /api/query/whoami', service)).status, 401)
    t.equal((await call(app, 'GET /authorization', service)).body, '-')
    const { token } = await app.call('auth.token.create', { subject: 'kim' })
    t.match(await call(app, 'GET /api/query/whoami', { ...service, 'x-api-key': token }), {
      status: 200,
      body: 'kim api_key'
    })
  }
)
