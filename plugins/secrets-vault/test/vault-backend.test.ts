import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type SecretBackend, secretBackend } from '@svc/contracts'
import { secretBackendSuite } from '@svc/contracts/conformance'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import plugin from '#plugin'
import { VaultBackend } from '#root'

const DEFAULTS = { mount: 'secret', path: 'svc', approle_mount: 'approle', timeout_ms: 5_000 }
const NONE = (): null => null

/** A server with the part of the HTTP API of Vault that its OpenAPI document describes for KV version 2 and AppRole. */
async function startServer(t: Test) {
  const state = {
    tokens: new Set(['root-token']),
    secrets: new Map<string, object>([['secret/data/svc', { A: 'swordfish', number: 7 }]]),
    logins: 0,
    seen: [] as string[],
    fault: 'none' as 'none' | 'hang' | 'sealed' | 'redirect' | 'text' | 'huge' | 'drop'
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
    const path = (req.url ?? '').replace('/v1/', '')
    state.seen.push(`${req.method} ${path} ${req.headers['x-vault-namespace'] ?? ''}`.trim())
    if (state.fault === 'hang') return
    if (state.fault === 'drop') return void req.socket.destroy()
    if (state.fault === 'sealed') return answer(res, 503, { errors: ['Vault is sealed'] })
    if (state.fault === 'redirect') return void res.writeHead(307, { location: 'http://127.0.0.1:9/' }).end()
    if (state.fault === 'text') return void res.end('<html>')
    if (state.fault === 'huge') return void res.end('x'.repeat(3_000_000))
    if (path === 'auth/approle/login') {
      const { role_id, secret_id } = await read(req)
      if (role_id !== 'role' || secret_id !== 'secret-id')
        return answer(res, 400, { errors: ['invalid role or secret'] })
      const token = `approle-${++state.logins}`
      state.tokens.add(token)
      return answer(res, 200, { auth: { client_token: token, lease_duration: 100, renewable: true } })
    }
    if (req.headers['x-vault-request'] !== 'true' || !state.tokens.has(String(req.headers['x-vault-token'])))
      return answer(res, 403, { errors: ['permission denied'] })
    const data = state.secrets.get(path)
    if (data === undefined) return answer(res, 404, { errors: [] })
    answer(res, 200, { data: { data, metadata: { version: 1, destroyed: false, deletion_time: '' } } })
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
  const token = secretBackend('vault')
  let backend: SecretBackend | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { backend: token },
    activate(_ctx, deps) {
      backend = deps.backend
    }
  })
  const kernel = await testKernel([plugin, probe], { settings: { 'secrets-vault': { address, token: 'root-token' } } })
  t.teardown(() => kernel.close())
  const known = { name: 'A', value: 'swordfish' }
  for (const { name, run } of secretBackendSuite({ backend: backend as SecretBackend, known, unknown: 'B' }))
    await t.test(name, run)
})

t.test('a name may have a path, and every request has the namespace', async t => {
  const { address, state } = await startServer(t)
  state.secrets.set('secret/data/team/a%20b', { url: 'libsql://a' })
  const backend = new VaultBackend({ ...DEFAULTS, address, token: 'root-token', namespace: 'ns' }, NONE)
  t.equal(await backend.resolve('team/a b#url'), 'libsql://a')
  t.same(state.seen, ['GET secret/data/team/a%20b ns'])
  for (const name of ['../sys/x#y', 'a//b#y', '#y', 'a#'])
    await t.rejects(backend.resolve(name), { code: 'SEC_NOT_FOUND' }, name)
  t.equal(state.seen.length, 1, 'an invalid name is not sent')
  await t.rejects(backend.resolve('svc#number'), { code: 'SEC_BACKEND_UNAVAILABLE', message: /not a text/ })
  await t.rejects(backend.resolve('svc#constructor'), { code: 'SEC_NOT_FOUND' })
})

t.test('a login by AppRole is shared, renewed before its end, and repeated when the server ended it', async t => {
  const { address, state } = await startServer(t)
  let now = 0
  const backend = new VaultBackend({ ...DEFAULTS, address, role_id: 'role', secret_id: 'secret-id' }, NONE, () => now)
  t.equal(await backend.resolve('A'), 'swordfish')
  t.equal(await backend.resolve('A'), 'swordfish')
  t.equal(state.logins, 1)
  now = 90_000
  t.equal(await backend.resolve('A'), 'swordfish')
  t.equal(state.logins, 2)
  state.tokens.clear()
  t.equal(await backend.resolve('A'), 'swordfish')
  t.equal(state.logins, 3)
  const wrong = new VaultBackend({ ...DEFAULTS, address, role_id: 'role', secret_id: 'hush' }, NONE)
  const error = await wrong.resolve('A').catch((caught: unknown) => caught)
  t.match(error, { code: 'SEC_BACKEND_UNAVAILABLE', message: /status 400/ })
  t.notMatch(JSON.stringify([error, String(error)]), /hush/)
})

t.test('without a setting, the token of the command line program is used', async t => {
  const { address } = await startServer(t)
  t.equal(await new VaultBackend({ ...DEFAULTS, address }, () => 'root-token').resolve('A'), 'swordfish')
  await t.rejects(new VaultBackend({ ...DEFAULTS, address }, NONE).resolve('A'), { message: /neither a token/ })
})

t.test('faults of the server are typed errors without the token or a value', async t => {
  const { address, state } = await startServer(t)
  const backend = new VaultBackend({ ...DEFAULTS, address, token: 'root-token', timeout_ms: 200 }, NONE)
  for (const fault of ['hang', 'sealed', 'redirect', 'text', 'huge', 'drop'] as const) {
    state.fault = fault
    const error = await backend.resolve('A').catch((caught: unknown) => caught)
    t.match(error, { code: 'SEC_BACKEND_UNAVAILABLE' }, fault)
    t.notMatch(JSON.stringify([error, String(error), (error as Error).message]), /root-token|swordfish/)
  }
  state.fault = 'none'
  state.tokens.clear()
  await t.rejects(backend.resolve('A'), { code: 'SEC_BACKEND_UNAVAILABLE', message: /may not read svc/ })
})

t.test('an address without encryption is refused unless it is this machine', async t => {
  for (const address of [undefined, 'http://vault.example', 'https://user:hush@vault.example']) {
    const settings = { ...DEFAULTS, token: 'root-token', ...(address === undefined ? {} : { address }) }
    const error = await new VaultBackend(settings, NONE).resolve('A').catch((caught: unknown) => caught)
    t.match(error, { code: 'SEC_BACKEND_UNAVAILABLE', hint: /VAULT_ADDR|https/ })
    t.notMatch(String((error as Error).message), /hush|root-token/)
  }
})
