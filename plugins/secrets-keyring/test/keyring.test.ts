import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type SecretBackend, type SecretKeyring, secretBackend, secretKeyring } from '@svc/contracts'
import { secretBackendSuite } from '@svc/contracts/conformance'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t from 'tap'
import plugin from '#plugin'
import { FileStore, Keyring, type OpenEntry, openOsEntry } from '#root'

const ABSENT: OpenEntry = async () => {
  throw new Error('no keyring on this machine')
}

/** Keyring of an operating system, in memory. */
function osKeyring(entries = new Map<string, string>()): OpenEntry & { isLocked?: boolean } {
  const open: OpenEntry & { isLocked?: boolean } = async (collection, account) => {
    if (open.isLocked === true) throw new Error('the keyring is locked')
    const name = `${collection}/${account}`
    return {
      getPassword: async () => entries.get(name) ?? null,
      async setPassword(secret) {
        entries.set(name, secret)
      },
      deletePassword: async () => entries.delete(name)
    }
  }
  return open
}

const keyring = (folder: string, open: OpenEntry, store: 'auto' | 'os' | 'file' = 'auto'): Keyring =>
  new Keyring({ store, folder, timeoutMs: 5_000, open })

t.test('any names and secrets are kept in private files, and never outside the folder', async t => {
  const folder = t.testdir()
  const store = new FileStore(join(folder, 'keyring'))
  const text = fc.string({ minLength: 1, maxLength: 20, unit: 'binary' })
  fc.assert(
    fc.property(fc.dictionary(text, text, { maxKeys: 5 }), secrets => {
      for (const [account, secret] of Object.entries(secrets)) store.set('../x', account, secret)
      for (const [account, secret] of Object.entries(secrets))
        if (store.get('../x', account) !== secret) throw new Error('another secret')
    }),
    { numRuns: 30, examples: [[{ '..': 'a', '.': 'b', 'a/../b': 'c', CON: 'd' }]] }
  )
  t.throws(() => statSync(join(folder, 'x')), 'no file is next to the folder')
})

t.test('without a keyring, secrets are in files that only the user may read', async t => {
  const folder = join(t.testdir(), 'keyring')
  const ring = keyring(folder, ABSENT)
  t.match(await ring.status(), { kind: 'file', place: folder, reason: /no keyring on this machine/ })
  await ring.set('c', 'a', 'swordfish')
  const path = join(folder, 'c', 'a.secret')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(readFileSync(path, 'utf8'), 'swordfish')
  t.equal(await keyring(folder, ABSENT).get('c', 'a'), 'swordfish')
  chmodSync(path, 0o640)
  const error = await ring.get('c', 'a').catch((caught: unknown) => caught)
  t.match(error, { code: 'SEC_STORE_FAILED', hint: /chmod 600/ })
  chmodSync(path, 0o600)
  t.equal(await ring.delete('c', 'a'), true)
  t.equal(await ring.delete('c', 'a'), false)
  t.equal(await ring.get('c', 'a'), null)
})

t.test('of many creators of one secret, all get the same one', async t => {
  const entries = new Map<string, string>()
  for (const open of [ABSENT, osKeyring(entries)]) {
    const folder = join(t.testdir(), open === ABSENT ? 'files' : 'os')
    let made = 0
    const secrets = await Promise.all(
      Array.from({ length: 10 }, () => keyring(folder, open).getOrCreate('c', 'master', () => `secret ${made++}`))
    )
    t.equal(new Set(secrets).size, 1, secrets.join())
    t.equal(await keyring(folder, open).get('c', 'master'), secrets[0])
  }
})

t.test(
  'secrets of the keyring are in no file, and older ones in files stay readable until they are replaced',
  async t => {
    const folder = join(t.testdir(), 'keyring')
    await keyring(folder, ABSENT).set('c', 'old', 'from a file')
    const entries = new Map<string, string>()
    const ring = keyring(folder, osKeyring(entries))
    t.match(await ring.status(), { kind: 'os', reason: null })
    t.equal(await ring.get('c', 'old'), 'from a file')
    await ring.set('c', 'old', 'from the keyring')
    t.same([...entries], [['c/old', 'from the keyring']])
    t.equal(new FileStore(folder).get('c', 'old'), null)
  }
)

t.test('a locked keyring with secrets is an error, so that files do not become a second set', async t => {
  const folder = join(t.testdir(), 'keyring')
  const open = osKeyring()
  await keyring(folder, open).set('c', 'a', 'swordfish')
  open.isLocked = true
  const ring = keyring(folder, open)
  await t.rejects(ring.get('c', 'a'), { code: 'SEC_STORE_FAILED', message: /locked/ })
  await t.rejects(
    ring.getOrCreate('c', 'b', () => 'x'),
    { code: 'SEC_STORE_FAILED' }
  )
  open.isLocked = false
  t.equal(await ring.get('c', 'a'), 'swordfish', 'it is used again once it is unlocked')
  t.equal(await keyring(folder, ABSENT, 'file').get('c', 'a'), null, 'the setting file uses only files')
  await t.rejects(keyring(join(folder, 'other'), ABSENT, 'os').get('c', 'a'), { code: 'SEC_STORE_FAILED' })
})

t.test('the lock of a process that ended is removed', async t => {
  const folder = join(t.testdir(), 'keyring')
  const files = new FileStore(folder)
  files.set('svc', 'lock', '999999999')
  t.equal(await keyring(folder, osKeyring()).getOrCreate('c', 'a', () => 'made'), 'made')
  t.equal(files.get('svc', 'lock'), null)
})

t.test('an unusable folder is an error that names the file', async t => {
  const folder = t.testdir({ file: '' })
  await t.rejects(keyring(join(folder, 'file'), ABSENT).set('c', 'a', 'x'), {
    code: 'SEC_STORE_FAILED',
    message: /file/
  })
  writeFileSync(join(folder, 'file'), 'changed')
})

t.test(
  'on Linux without a session bus, the keyring of the system is absent',
  { skip: process.platform !== 'linux' },
  async t => {
    const { DBUS_SESSION_BUS_ADDRESS: bus, XDG_RUNTIME_DIR: runtime } = process.env
    t.teardown(() =>
      Object.assign(process.env, {
        ...(bus && { DBUS_SESSION_BUS_ADDRESS: bus }),
        ...(runtime && { XDG_RUNTIME_DIR: runtime })
      })
    )
    delete process.env.DBUS_SESSION_BUS_ADDRESS
    delete process.env.XDG_RUNTIME_DIR
    await t.rejects(openOsEntry('c', 'a'), { message: /session bus/ })
    process.env.DBUS_SESSION_BUS_ADDRESS = `unix:path=${join(t.testdir(), 'no-bus')}`
    t.match(await keyring(join(t.testdir(), 'keyring'), openOsEntry).status(), { kind: 'file' })
  }
)

t.test('the plugin is a backend', async t => {
  const token = secretBackend('keyring')
  let parts: { readonly backend: SecretBackend; readonly ring: SecretKeyring } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { backend: token, ring: secretKeyring },
    activate(_ctx, deps) {
      parts = deps
    }
  })
  const folder = join(t.testdir(), 'keyring')
  const kernel = await testKernel([plugin, probe], { settings: { 'secrets-keyring': { store: 'file', folder } } })
  t.teardown(() => kernel.close())
  if (parts === undefined) throw new Error('the plugin did not start')
  await parts.ring.set('vox-secrets', 'A', 'swordfish')
  for (const { name, run } of secretBackendSuite({
    backend: parts.backend,
    known: { name: 'A', value: 'swordfish' },
    unknown: 'B'
  }))
    await t.test(name, run)
})
