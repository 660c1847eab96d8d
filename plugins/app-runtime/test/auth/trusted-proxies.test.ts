import t from 'tap'
import { clientAddresses } from '#auth'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { call, SET } from './guarded-app.ts'

t.setTimeout(300_000)

const SOURCE = `
@table @auth(provider: password, identity: email) type User { email: str }
@public @rate_limit(by: ip, per: "1h", max: 1) @query fn once() to int { 1 }
@public @query fn address() to str { request.ip() }
`

const via = (forwarded: string) => ({ 'x-forwarded-for': forwarded })

t.test('a client behind a trusted proxy has limits by its own address', async t => {
  const app = await serveInProcess(t, SOURCE, {
    set: [...SET, 'plugins.app-runtime.auth.trusted_proxies=["127.0.0.0/8", "10.0.0.1"]']
  })
  const statuses = async (path: string, addresses: readonly string[], body?: string) => {
    const seen: number[] = []
    for (const each of addresses) seen.push((await call(app, path, via(each), body)).status)
    return seen
  }
  const first = ['192.0.2.1', '192.0.2.2', '192.0.2.1', '6.6.6.6, 192.0.2.2', '192.0.2.3, 10.0.0.1']
  t.same(await statuses('GET /api/query/once', first), [200, 200, 429, 429, 200])
  t.equal((await call(app, 'GET /api/query/address', via('192.0.2.9'))).body, '192.0.2.9')
  t.equal((await call(app, 'GET /api/query/address')).body, '127.0.0.1')

  const signIn = (email: string, address: string) => {
    const body = JSON.stringify({ email, password: 'a wrong password' })
    return call(app, 'POST /api/auth/sign_in', via(address), body)
  }
  // Sent together: the limit refills, and hashing passwords takes time.
  const attempts = await Promise.all(Array.from({ length: 30 }, () => signIn('ann@example.org', '192.0.2.7')))
  t.ok(attempts.some(({ status }) => status === 429))
  t.equal((await signIn('ben@example.org', '192.0.2.8')).status, 401, 'another client is not limited')
})

t.test('without trusted proxies, clients cannot choose their address', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  t.equal((await call(app, 'GET /api/query/once', via('192.0.2.1'))).status, 200)
  t.equal((await call(app, 'GET /api/query/once', via('192.0.2.2'))).status, 429)
  t.equal((await call(app, 'GET /api/query/address', via('192.0.2.1'))).body, '127.0.0.1')
})

t.test('a proxy that is neither an address nor a network is refused', async t => {
  for (const wrong of ['10.0.0.0/33', 'host', '']) {
    t.throws(() => clientAddresses({ trusted_proxies: [wrong] }), {
      code: 'RUN_AUTH_UNAVAILABLE',
      message: `trusted_proxies: "${wrong}" is neither an address nor a network`
    })
  }
})
