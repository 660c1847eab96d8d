import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type SecretBackend, secretBackend } from '@svc/contracts'
import { secretBackendSuite, secretLoginSuite } from '@svc/contracts/conformance'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { openBackend } from './open-backend.ts'

const known = { name: 'A', value: 'swordfish' }

const FAULTS = ['hang', 'redirect', 'text', 'drop', 'error'] as const

/**
 * Starts a server with the routes for one secret and for Universal Auth, as the documentation of Infisical's API and the
 * source of its server describe them.
 */
async function startServer(t: Test, versions: readonly string[] = ['v3', 'v4']) {
  const state = {
    tokens: new Set(['access-token']),
    logins: 0,
    seen: [] as string[],
    versions: new Set(versions),
    isHidden: false,
    fault: 'none' as 'none' | (typeof FAULTS)[number]
  }
  const answer = (res: ServerResponse, status: number, body: object): void => {
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const refuse = (res: ServerResponse, statusCode: number, error: string, message: unknown): void =>
    answer(res, statusCode, { reqId: 'req-1', statusCode, error, message })
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
    if (state.fault === 'error') return refuse(res, 500, 'InternalServerError', 'Something went wrong')
    if (url.pathname === '/api/v1/auth/universal-auth/login') {
      const { clientId, clientSecret } = await read(req)
      if (clientId !== 'id' || clientSecret !== 'client-secret')
        return refuse(res, 401, 'UnauthorizedError', 'Invalid credentials')
      const accessToken = `login-${++state.logins}`
      state.tokens.add(accessToken)
      return answer(res, 200, { accessToken, expiresIn: 100, accessTokenMaxTTL: 1_000, tokenType: 'Bearer' })
    }
    const [, version = '', encoded = ''] = url.pathname.match(/^\/api\/(v3|v4)\/secrets\/(?:raw\/)?([^/]+)$/) ?? []
    if (!state.versions.has(version) || url.pathname.includes('/raw/') !== (version === 'v3'))
      return answer(res, 404, {
        ...{ message: `Route GET:${url.pathname} not found`, error: 'Not Found', statusCode: 404 }
      })
    if (!state.tokens.has(String(req.headers.authorization).replace('Bearer ', '')))
      return refuse(res, 401, 'UnauthorizedError', 'Token invalid')
    const project = url.searchParams.get(version === 'v4' ? 'projectId' : 'workspaceId')
    if (version === 'v4' && project === null) return refuse(res, 422, 'ValidationFailure', [{ path: ['projectId'] }])
    const name = decodeURIComponent(encoded)
    if (name !== 'A' || url.searchParams.get('environment') !== 'dev')
      return refuse(res, 404, 'NotFound', `Secret with name '${name}' not found`)
    const value = state.isHidden ? '<hidden-by-infisical>' : 'swordfish'
    const secret = {
      secretKey: name,
      secretValue: value,
      secretValueHidden: state.isHidden,
      version: 1,
      type: 'shared'
    }
    answer(res, 200, { secret: { ...secret, environment: 'dev', secretPath: '/' } })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { state, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

for (const version of ['v3', 'v4'])
  t.test(`the plugin is a backend at a server with version ${version} of the API`, async t => {
    const { address, state } = await startServer(t, [version])
    const token = secretBackend('infisical')
    let backend: SecretBackend | undefined
    const probe = definePlugin({
      name: 'probe',
      requires: { backend: token },
      activate(_ctx, deps) {
        backend = deps.backend
      }
    })
    const settings = { address, token: 'access-token', project_id: 'project', timeout_ms: 2_000 }
    const kernel = await testKernel([plugin, probe], { settings: { 'secrets-infisical': settings } })
    t.teardown(() => kernel.close())
    const fault = (name: typeof state.fault) => () => {
      state.fault = name
    }
    const faults = [
      ...FAULTS.map(name => ({ name, begin: fault(name), end: fault('none') })),
      {
        name: 'revoked token',
        begin: () => state.tokens.clear(),
        end: () => state.tokens.add('access-token')
      },
      {
        name: 'hidden value',
        begin: () => {
          state.isHidden = true
        },
        end: () => {
          state.isHidden = false
        }
      }
    ]
    const subject = { backend: backend as SecretBackend, known, unknown: 'B', hidden: ['access-token'] }
    for (const { name, run } of secretBackendSuite({ ...subject, faults })) await t.test(name, run)
  })

t.test('a login by Universal Auth', async t => {
  const { address, state } = await startServer(t)
  const login = { address, client_id: 'id' }
  let now = 0
  const subject = {
    backend: openBackend({ ...login, client_secret: 'client-secret' }, { now: () => now }),
    known,
    logins: () => state.logins,
    passRenewal: () => {
      now = 90_000
    },
    endLogins: () => state.tokens.clear(),
    wrong: { backend: openBackend({ ...login, client_secret: 'hush' }), secret: 'hush' }
  }
  for (const { name, run } of secretLoginSuite(subject)) await t.test(name, run)
})

t.test(
  'requests name the project, the environment and the folder, and no name leaves its place in the path',
  async t => {
    const { address, state } = await startServer(t)
    const backend = openBackend({ address, token: 'access-token', path: '/a b' })
    await backend.resolve('A')
    await t.rejects(backend.resolve('../../v1/x?y'), { code: 'SEC_NOT_FOUND' })
    const query = '?environment=dev&secretPath=%2Fa+b&projectId=project&viewSecretValue=true'
    t.same(state.seen, [`GET /api/v4/secrets/A${query}`, `GET /api/v4/secrets/..%2F..%2Fv1%2Fx%3Fy${query}`])
  }
)

t.test('an older server is asked with version 3 of the API, until it no longer has it', async t => {
  const { address, state } = await startServer(t, ['v3'])
  const backend = openBackend({ address, token: 'access-token' })
  const asked = async (): Promise<string[]> => {
    state.seen = []
    await backend.resolve('A').catch(() => null)
    return state.seen.map(each => each.split('/')[2] ?? '')
  }
  t.same(await asked(), ['v4', 'v3'])
  t.same(await asked(), ['v3'])
  state.versions = new Set(['v4'])
  t.same(await asked(), ['v3'])
  t.same(await asked(), ['v4'])
  t.equal(await backend.resolve('A'), 'swordfish')
})

t.test(
  'a service token without a project is used with version 3 of the API, which takes the project from it',
  async t => {
    const { address, state } = await startServer(t)
    t.equal(await openBackend({ address, token: 'access-token', project_id: undefined }).resolve('A'), 'swordfish')
    t.same(state.seen, ['GET /api/v3/secrets/raw/A?environment=dev&secretPath=%2F'])
  }
)

t.test('without credentials, or with an address that would send them unencrypted, nothing is sent', async t => {
  const { address, state } = await startServer(t)
  await t.rejects(openBackend({ address }).resolve('A'), { message: /neither a token/ })
  await t.rejects(openBackend({ address: 'http://infisical.example', token: 'x' }).resolve('A'), {
    code: 'SEC_BACKEND_UNAVAILABLE',
    message: /unencrypted/
  })
  t.same(state.seen, [])
})
