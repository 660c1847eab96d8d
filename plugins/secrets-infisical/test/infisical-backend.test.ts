import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type SecretBackend, secretBackend } from '@svc/contracts'
import { secretBackendSuite } from '@svc/contracts/conformance'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { InfisicalBackend } from '#root'

const DEFAULTS = { environment: 'dev', path: '/', timeout_ms: 5_000, project_id: 'project' }

/** A server with the part of the HTTP API that Infisical's OpenAPI document describes for one secret and Universal Auth. */
async function startServer(t: Test) {
  const state = {
    tokens: new Set(['access-token']),
    logins: 0,
    seen: [] as string[],
    fault: 'none' as 'none' | 'hang' | 'redirect' | 'text' | 'drop' | 'error'
  }
  const answer = (res: ServerResponse, status: number, body: object): void => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const read = async (req: IncomingMessage): Promise<Record<string, unknown>> => {
    const parts: Buffer[] = []
    for await (const part of req) parts.push(part as Buffer)
    return JSON.parse(Buffer.concat(parts).toString() || '{}')
  }
  const server = createServer(async (req, res) => {
    const url = new URL(req.url ?? '', 'http://x')
    state.seen.push(`${req.method} ${url.pathname}${url.search}`)
    if (state.fault === 'hang') return
    if (state.fault === 'drop') return void req.socket.destroy()
    if (state.fault === 'redirect') return void res.writeHead(302, { location: 'http://127.0.0.1:9/' }).end()
    if (state.fault === 'text') return void res.end('<html>')
    if (state.fault === 'error') return answer(res, 500, { message: 'internal' })
    if (url.pathname === '/api/v1/auth/universal-auth/login') {
      const { clientId, clientSecret } = await read(req)
      if (clientId !== 'id' || clientSecret !== 'client-secret') return answer(res, 401, { message: 'invalid' })
      const accessToken = `login-${++state.logins}`
      state.tokens.add(accessToken)
      return answer(res, 200, { accessToken, expiresIn: 100, accessTokenMaxTTL: 1_000, tokenType: 'Bearer' })
    }
    const token = String(req.headers.authorization).replace('Bearer ', '')
    if (!state.tokens.has(token)) return answer(res, 401, { message: 'token invalid' })
    const name = decodeURIComponent(url.pathname.replace('/api/v3/secrets/raw/', ''))
    if (name !== 'A' || url.searchParams.get('environment') !== 'dev') return answer(res, 404, { message: 'no secret' })
    answer(res, 200, { secret: { secretKey: name, secretValue: 'swordfish', version: 1 } })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { state, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test('the plugin is a backend', async t => {
  const { address } = await startServer(t)
  const token = secretBackend('infisical')
  let backend: SecretBackend | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { backend: token },
    activate(_ctx, deps) {
      backend = deps.backend
    }
  })
  const settings = { 'secrets-infisical': { address, token: 'access-token' } }
  const kernel = await testKernel([plugin, probe], { settings })
  t.teardown(() => kernel.close())
  const known = { name: 'A', value: 'swordfish' }
  for (const { name, run } of secretBackendSuite({ backend: backend as SecretBackend, known, unknown: 'B' }))
    await t.test(name, run)
})

t.test(
  'requests name the project, the environment and the folder, and no name leaves its place in the path',
  async t => {
    const { address, state } = await startServer(t)
    const backend = new InfisicalBackend({ ...DEFAULTS, address, token: 'access-token', path: '/a b' })
    await backend.resolve('A')
    await t.rejects(backend.resolve('../../v1/x?y'), { code: 'SEC_NOT_FOUND' })
    t.same(state.seen, [
      'GET /api/v3/secrets/raw/A?environment=dev&secretPath=%2Fa+b&workspaceId=project',
      'GET /api/v3/secrets/raw/..%2F..%2Fv1%2Fx%3Fy?environment=dev&secretPath=%2Fa+b&workspaceId=project'
    ])
  }
)

t.test('a login is shared, renewed before its end, and repeated when the server ended it', async t => {
  const { address, state } = await startServer(t)
  let now = 0
  const login = { client_id: 'id', client_secret: 'client-secret' }
  const backend = new InfisicalBackend({ ...DEFAULTS, address, ...login }, () => now)
  await backend.resolve('A')
  await backend.resolve('A')
  t.equal(state.logins, 1)
  now = 90_000
  await backend.resolve('A')
  t.equal(state.logins, 2)
  state.tokens.clear()
  t.equal(await backend.resolve('A'), 'swordfish')
  t.equal(state.logins, 3)
  const wrong = new InfisicalBackend({ ...DEFAULTS, address, client_id: 'id', client_secret: 'hush' })
  const error = await wrong.resolve('A').catch((caught: unknown) => caught)
  t.match(error, { code: 'SEC_BACKEND_UNAVAILABLE', message: /status 401/ })
  t.notMatch(JSON.stringify([error, String(error)]), /hush/)
})

t.test('faults of the server are typed errors without the token or a value', async t => {
  const { address, state } = await startServer(t)
  const backend = new InfisicalBackend({ ...DEFAULTS, address, token: 'access-token', timeout_ms: 200 })
  for (const fault of ['hang', 'redirect', 'text', 'drop', 'error'] as const) {
    state.fault = fault
    const error = await backend.resolve('A').catch((caught: unknown) => caught)
    t.match(error, { code: 'SEC_BACKEND_UNAVAILABLE' }, fault)
    t.notMatch(JSON.stringify([error, (error as Error).message]), /access-token|swordfish/)
  }
  state.fault = 'none'
  state.tokens.clear()
  await t.rejects(backend.resolve('A'), { code: 'SEC_BACKEND_UNAVAILABLE', message: /refuses the token/ })
  await t.rejects(new InfisicalBackend({ ...DEFAULTS, address }).resolve('A'), { message: /neither a token/ })
  await t.rejects(new InfisicalBackend({ ...DEFAULTS, address: 'http://infisical.example', token: 'x' }).resolve('A'), {
    code: 'SEC_BACKEND_UNAVAILABLE',
    message: /unencrypted/
  })
})
