import { type SecretBackend, secretBackend } from '@svc/contracts'
import { secretBackendSuite, secretLoginSuite } from '@svc/contracts/conformance'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'
import type { VaultBackend } from '#root'
import { openBackend } from './open-backend.ts'
import { FAULTS, startServer } from './recorded-server.ts'

const known = { name: 'A', value: 'swordfish' }

t.test('the plugin is a backend', async t => {
  const { address, state } = await startServer(t)
  const token = secretBackend('vault')
  let backend: SecretBackend | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { backend: token },
    activate(_ctx, deps) {
      backend = deps.backend
    }
  })
  const settings = { 'secrets-vault': { address, token: 'root-token', timeout_ms: 2_000 } }
  const kernel = await testKernel([plugin, probe], { settings })
  t.teardown(() => kernel.close())
  const faults = FAULTS.map(name => ({
    name,
    begin: () => {
      state.fault = name
    },
    end: () => {
      state.fault = 'none'
    }
  }))
  const revoked = {
    name: 'revoked token',
    begin: () => state.tokens.clear(),
    end: () => state.tokens.add('root-token')
  }
  const subject = { backend: backend as SecretBackend, known, unknown: 'B', hidden: ['root-token'] }
  for (const { name, run } of secretBackendSuite({ ...subject, faults: [...faults, revoked] })) await t.test(name, run)
})

t.test('a login by AppRole', async t => {
  const { address, state } = await startServer(t)
  const login = { address, role_id: 'role' }
  let now = 0
  const subject = {
    backend: openBackend({ ...login, secret_id: 'secret-id' }, { now: () => now }),
    known,
    logins: () => state.logins,
    passRenewal: () => {
      now = 90_000
    },
    endLogins: () => state.tokens.clear(),
    wrong: { backend: openBackend({ ...login, secret_id: 'hush' }), secret: 'hush' }
  }
  for (const { name, run } of secretLoginSuite(subject)) await t.test(name, run)
})

t.test('a name may have a path, and every request has the namespace', async t => {
  const { address, state } = await startServer(t)
  state.secrets.set('secret/data/team/a%20b', { url: 'libsql://a' })
  const backend = openBackend({ address, token: 'root-token', namespace: 'ns' })
  t.equal(await backend.resolve('team/a b#url'), 'libsql://a')
  t.same(state.seen, ['GET secret/data/team/a%20b ns'])
  for (const name of ['../sys/x#y', 'a//b#y', '#y', 'a#'])
    await t.rejects(backend.resolve(name), { code: 'SEC_NOT_FOUND' }, name)
  t.equal(state.seen.length, 1, 'an invalid name is not sent')
  await t.rejects(backend.resolve('svc#number'), { code: 'SEC_BACKEND_UNAVAILABLE', message: /not a text/ })
})

t.test('version 1 of the engine has another path, and a wrong mount or version is not an unknown secret', async t => {
  const { address, state } = await startServer(t)
  state.secrets.set('one/svc', { A: 'old' })
  const at = (place: { mount?: string; kv_version?: number }): VaultBackend =>
    openBackend({ address, token: 'root-token', ...place })
  t.equal(await at({ mount: 'one', kv_version: 1 }).resolve('A'), 'old')
  t.same(state.seen, ['GET one/svc'])
  const code = 'SEC_BACKEND_UNAVAILABLE'
  await t.rejects(at({ kv_version: 1 }).resolve('A'), { code, hint: /kv_version to 2/ })
  await t.rejects(at({ mount: 'none' }).resolve('A'), { code, message: /no mount none/ })
  await t.rejects(at({ mount: 'one' }).resolve('A'), { code: 'SEC_NOT_FOUND', message: /version 2 of the engine/ })
})

t.test('without a setting, the token of the command line program is used', async t => {
  const { address } = await startServer(t)
  t.equal(await openBackend({ address }, { storedToken: () => 'root-token' }).resolve('A'), 'swordfish')
  await t.rejects(openBackend({ address }).resolve('A'), { message: /neither a token/ })
})

t.test('without a usable address, nothing is sent', async t => {
  const noServer = openBackend({ token: 'root-token' })
  await t.rejects(noServer.resolve('A'), { code: 'SEC_BACKEND_UNAVAILABLE', hint: /VAULT_ADDR/ })
  for (const address of [
    'http://vault.example:8200',
    'https://user:hush@vault.example',
    'http://[',
    'https://vault.example/?a',
    'https://vault.example/#a'
  ])
    await t.rejects(openBackend({ address, token: 'root-token' }).resolve('A'), {
      code: 'SEC_BACKEND_UNAVAILABLE',
      message: /^(?!.*hush).*(?:unencrypted|the address)/
    })
})
