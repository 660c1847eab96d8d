import { spawn } from 'node:child_process'
import { createDecipheriv } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { createClient } from '@libsql/client/sqlite3'
import { blake3 } from '@noble/hashes/blake3.js'
import { policyOf, type SecretsPolicy } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { assertSeparate, type LocalVault, locationOf, selectedBy, VaultDatabase } from '#root'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { startHranaServer } from '../../database/test/hrana-server.ts'
import { memoryKeyring, openVault } from './open-vault.ts'

const DEV = policyOf({ profile: 'dev', phase: 'shadow', hardCut: false })
const CLI = { by: 'cli' }

t.test('a stored secret is returned, encrypted in the file, and only the user may read the file', async t => {
  const file = join(t.testdir(), 'new', 'vault.db')
  const vault = openVault(t, file)
  t.equal(await vault.get('A', 'dev', 'cli'), null)
  t.notOk(existsSync(file), 'a read creates no file')
  t.equal(await vault.set('A', 'correct horse battery', CLI), 1)
  t.match(await vault.get('A', 'dev', 'cli'), { value: 'correct horse battery', overridden: false })
  t.same(await vault.keys(), ['A'])
  t.equal(statSync(file).mode & 0o077, 0)
  for (const path of [file, `${file}-wal`])
    if (existsSync(path)) t.notOk(readFileSync(path).includes('correct horse'), path)
})

t.test('the columns are as specified: a program with only the master password decrypts them', async t => {
  const file = join(t.testdir(), 'vault.db')
  const keyring = memoryKeyring()
  await openVault(t, file, { keyring }).set('A', 'correct horse battery', CLI)
  const [row] = (await createClient({ url: `file:${file}` }).execute('SELECT * FROM clavis_account_secrets')).rows
  t.match(row, { account_id: 'default-account', secret_id: 'A', cipher_version: 1, consistency_origin: 'canonical' })
  t.match(row, { kek_ref: 'local-master', kek_version: 1, consistency_version: 1, rotation_epoch: 1 })
  const bytes = (name: string): Buffer => Buffer.from(row?.[name] as ArrayBuffer)
  const int64 = (value: number): Buffer => {
    const buffer = Buffer.alloc(8)
    buffer.writeBigInt64LE(BigInt(value))
    return buffer
  }
  const open = (key: Uint8Array, nonce: Buffer, sealed: Buffer): Buffer => {
    const decipher = createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: 16 })
    decipher.setAuthTag(sealed.subarray(-16))
    return Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()])
  }
  const password = keyring.entries.get('vox-secrets-vault/master') ?? ''
  t.match(password, /^[0-9a-f]{64}$/)
  const kek = blake3(Buffer.concat([blake3(Buffer.from(password)), Buffer.from('local-master'), int64(1)]))
  const wrapped = bytes('dek_wrapped')
  const key = open(kek, wrapped.subarray(0, 12), wrapped.subarray(12))
  t.equal(open(key, bytes('nonce'), bytes('ciphertext')).toString(), 'correct horse battery')
  const separator = Buffer.of(0x1f)
  const checksum = blake3(
    Buffer.concat([
      ...[Buffer.from('default-account'), separator, Buffer.from('A'), separator, bytes('ciphertext'), separator],
      ...[bytes('nonce'), int64(1), wrapped, Buffer.from('local-master'), int64(1), int64(1), int64(1)]
    ])
  )
  t.equal(row?.checksum_hash, Buffer.from(checksum).toString('hex'))
})

t.test('a row of which any byte was changed is an error, never a value', async t => {
  const file = join(t.testdir(), 'vault.db')
  const vault = openVault(t, file)
  await vault.set('A', 'swordfish', CLI)
  const client = createClient({ url: `file:${file}`, intMode: 'bigint' })
  t.teardown(() => client.close())
  const [row] = (await client.execute('SELECT * FROM clavis_account_secrets')).rows
  const columns = Object.entries(row ?? {}).filter(([name]) => !['account_id', 'secret_id'].includes(name))
  t.equal(columns.length, 15)
  let changes = 0
  for (const [name, value] of columns) {
    for (const changed of flips(value as ArrayBuffer | string | bigint)) {
      await client.execute({ sql: `UPDATE clavis_account_secrets SET ${name} = ?`, args: [changed] })
      const outcome = await vault.get('A', 'dev', 'cli').catch((error: unknown) => error)
      if ((outcome as { code?: unknown }).code !== 'SEV_TAMPERED') t.fail(`${name}: ${String(outcome)}`)
      if (JSON.stringify(outcome, Object.getOwnPropertyNames(outcome)).includes('swordfish'))
        t.fail('the value is shown')
      changes++
    }
    await client.execute({ sql: `UPDATE clavis_account_secrets SET ${name} = ?`, args: [value as bigint] })
  }
  t.ok(changes > 250, `${changes} changed rows`)
  t.match(await vault.get('A', 'dev', 'cli'), { value: 'swordfish' }, 'the unchanged row is valid')
})

/** Returns the value with one bit of each byte changed. */
function flips(value: ArrayBuffer | string | bigint): (Uint8Array | string | bigint)[] {
  if (typeof value === 'bigint') return [0n, 8n, 16n, 24n, 32n, 40n, 48n, 56n].map(bit => value ^ (1n << bit))
  const bytes = typeof value === 'string' ? Buffer.from(value) : new Uint8Array(value)
  return [...bytes].map((byte, index) => {
    const copy = Buffer.from(bytes)
    copy[index] = byte ^ 1
    return typeof value === 'string' ? copy.toString() : copy
  })
}

t.test('a row of another secret or account is an error', async t => {
  const file = join(t.testdir(), 'vault.db')
  const vault = openVault(t, file)
  await vault.set('A', 'swordfish', CLI)
  const client = createClient({ url: `file:${file}` })
  t.teardown(() => client.close())
  await client.execute("UPDATE clavis_account_secrets SET secret_id = 'B'")
  await t.rejects(vault.get('B', 'dev', 'cli'), { code: 'SEV_TAMPERED' })
  await client.execute("UPDATE clavis_account_secrets SET secret_id = 'A', account_id = 'other'")
  t.equal(await vault.get('A', 'dev', 'cli'), null)
})

t.test('any sequence of changes keeps the current value and the last versions', async t => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('set' as const), value: fc.string({ minLength: 1, maxLength: 40 }) }),
    fc.record({ kind: fc.constant('rollback' as const), back: fc.nat(5) }),
    fc.record({ kind: fc.constant('rewrap' as const), version: fc.integer({ min: 1, max: 3 }) })
  )
  let run = 0
  const folder = t.testdir()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
      const file = join(folder, `${run++}.db`)
      const keyring = memoryKeyring()
      let kek = 1
      const open = (): LocalVault => openVault(t, file, { keyring, kek: { ref: 'k', version: kek }, history: 4 })
      let model: { version: number; value: string }[] = []
      for (const each of steps) {
        const vault = open()
        const [current] = model
        const next = (current?.version ?? 0) + 1
        if (each.kind === 'set') {
          await vault.set('A', each.value, CLI)
          model.unshift({ version: next, value: each.value })
        } else if (each.kind === 'rollback' && current !== undefined) {
          const kept = model[Math.min(each.back, model.length - 1)] as { version: number; value: string }
          await vault.rollback('A', kept.version, CLI)
          model.unshift({ version: next, value: kept.value })
        } else if (each.kind === 'rewrap') {
          const before = kek
          kek = each.version
          await open().rewrap(CLI)
          if (before !== kek && current !== undefined) model.unshift({ version: next, value: current.value })
        }
        model = model.slice(0, 4)
        const found = await open().get('A', 'dev', 'cli')
        if ((found?.value ?? null) !== (model[0]?.value ?? null)) throw new Error('another current value')
        const versions = (await vault.versions('A')).map(({ version }) => version)
        if (versions.join() !== model.map(({ version }) => version).join()) throw new Error(`versions ${versions}`)
      }
    }),
    { numRuns: 12 }
  )
})

t.test('concurrent changes of two processes all get a version', async t => {
  const file = join(t.testdir(), 'vault.db')
  const keyring = memoryKeyring()
  const vaults = [openVault(t, file, { keyring, history: 100 }), openVault(t, file, { keyring, history: 100 })]
  const versions = await Promise.all(
    Array.from({ length: 20 }, (_, at) => (vaults[at % 2] as LocalVault).set('A', `value ${at}`, CLI))
  )
  t.same(
    [...versions].sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, at) => at + 1)
  )
  const last = versions.indexOf(20)
  t.match(await vaults[0]?.get('A', 'dev', 'cli'), { value: `value ${last}` })
})

t.test('the value of a profile wins over the canonical one until it is removed', async t => {
  const vault = openVault(t, join(t.testdir(), 'vault.db'))
  await vault.set('A', 'canonical', CLI)
  await vault.override('A', 'hard_cut', 'special', CLI)
  t.match(await vault.get('A', 'hard_cut', 'cli'), { value: 'special', overridden: true })
  t.match(await vault.get('A', 'prod', 'cli'), { value: 'canonical', overridden: false })
  await vault.override('A', 'hard_cut', null, CLI)
  t.match(await vault.get('A', 'hard_cut', 'cli'), { value: 'canonical', overridden: false })
  await t.rejects(vault.override('A', 'hard_cut', null, CLI), { code: 'SEV_UNKNOWN' })
})

t.test('reads and changes are recorded if they are audited, without values', async t => {
  const vault = openVault(t, join(t.testdir(), 'vault.db'), { audited: true })
  await vault.get('A', 'prod', 'agent:7')
  await vault.set('A', 'swordfish', CLI)
  await vault.get('A', 'prod', 'agent:7')
  const rows = await vault.audit(10)
  t.match(rows, [
    { secret: 'A', action: 'read', actor: 'agent:7', outcome: 'ok' },
    { secret: 'A', action: 'create', actor: 'cli', outcome: 'ok', detail: 'version 1' }
  ])
  t.equal(rows.length, 2, 'a search without a result is not recorded')
  t.notMatch(JSON.stringify(rows), 'swordfish')
  t.same(await vault.audit(10, 'B'), [])
})

t.test('a delegation lets an agent use one secret until it ends, and cannot be forged', async t => {
  const file = join(t.testdir(), 'vault.db')
  let now = 1_800_000_000_000
  const vault = openVault(t, file, { audited: true, now: () => now })
  await vault.set('A', 'swordfish', CLI)
  await vault.set('B', 'opensesame', CLI)
  const request = { agent: '7', scopes: ['read'], ttlMs: 60_000, by: 'cli' } as const
  const { delegation, token } = await vault.delegate('A', request)
  t.same(await vault.getDelegated(token, 'dev'), { key: 'A', value: 'swordfish' })
  const invalid = { code: 'SEV_DELEGATION_INVALID' }
  await t.rejects(vault.rotateDelegated(token, 'x'), invalid)
  for (const wrong of ['', `${token}x`, `${delegation.id}.`, token.slice(1)])
    await t.rejects(vault.getDelegated(wrong, 'dev'), invalid)
  const both = await vault.delegate('B', { ...request, scopes: ['rotate', 'read'] })
  t.same(await vault.rotateDelegated(both.token, 'opensesame-2'), { key: 'B', version: 2 })
  t.match(await vault.versions('B'), [{ createdBy: 'agent:7', operation: 'rotate' }, { createdBy: 'cli' }])
  t.match(await vault.audit(1), [{ actor: 'agent:7', action: 'rotate' }])
  t.notOk(readFileSync(file).includes(token.split('.')[1] ?? ''), 'the token is not stored')

  const client = createClient({ url: `file:${file}` })
  t.teardown(() => client.close())
  for (const [column, value] of [
    ['secret_id', 'B'],
    ['scope_bits', 3],
    ['expires_at_ms', now * 2],
    ['child_context', '8']
  ] as const) {
    const sql = `UPDATE clavis_agent_delegations SET ${column} = ? WHERE delegation_id = ?`
    const [row] = (await client.execute('SELECT * FROM clavis_agent_delegations ORDER BY secret_id')).rows
    await client.execute({ sql, args: [value, delegation.id] })
    await t.rejects(vault.getDelegated(token, 'dev'), invalid, column)
    await client.execute({ sql, args: [row?.[column] as string, delegation.id] })
  }
  t.equal((await vault.getDelegated(token, 'dev')).value, 'swordfish')
  await client.execute(
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO clavis_agent_delegations ' +
      "SELECT 'later-' || i, account_id, secret_id, scope_bits, parent_context, child_context, token_hash, issued_at_ms + 1, " +
      'expires_at_ms, revoked_at_ms, checksum_hash FROM clavis_agent_delegations, n LIMIT 1000'
  )
  t.notOk(
    (await vault.delegations()).some(({ id }) => id === both.delegation.id),
    'it is no longer listed'
  )
  t.equal(await vault.revoke(both.delegation.id, 'cli'), true)
  t.equal(await vault.revoke(both.delegation.id, 'cli'), false)
  await t.rejects(vault.getDelegated(both.token, 'dev'), { ...invalid, message: /revoked/ })
  now += 60_000
  await t.rejects(vault.getDelegated(token, 'dev'), { ...invalid, message: /expired/ })
  t.equal((await vault.delegations()).length, 1_000)
  await t.rejects(vault.delegate('C', request), { code: 'SEV_UNKNOWN' })
})

t.test('a lost master password is an error, and no second one is created', async t => {
  const file = join(t.testdir(), 'vault.db')
  await openVault(t, file).set('A', 'swordfish', CLI)
  const keyring = memoryKeyring()
  const vault = openVault(t, file, { keyring })
  await t.rejects(vault.get('A', 'dev', 'cli'), { code: 'SEV_MASTER_MISSING' })
  await t.rejects(vault.set('B', 'x', CLI), { code: 'SEV_MASTER_MISSING' })
  t.equal(keyring.entries.size, 0)
  await keyring.set('vox-secrets-vault', 'master', 'f'.repeat(64))
  await t.rejects(vault.get('A', 'dev', 'cli'), { code: 'SEV_TAMPERED', message: /master key/ })
})

t.test('refuses the file of another program, and leaves it unchanged', async t => {
  const folder = t.testdir()
  const file = join(folder, 'store.db')
  const client = createClient({ url: `file:${file}` })
  await client.execute('CREATE TABLE users (id TEXT)')
  client.close()
  const before = readFileSync(file)
  const vault = openVault(t, file)
  await t.rejects(vault.set('A', 'x', CLI), { code: 'SEV_SHARED_FILE', message: /users/ })
  await t.rejects(vault.get('A', 'dev', 'cli'), { code: 'SEV_SHARED_FILE' })
  t.same(readFileSync(file), before)
  symlinkSync(file, join(folder, 'link.db'))
  const location = locationOf({ prefer: false, path: 'link.db' }, { projectRoot: folder, policy: DEV, env: {} })
  t.throws(() => assertSeparate(location, [file]), { code: 'SEV_SHARED_FILE' })
  t.doesNotThrow(() => assertSeparate(location, [join(folder, 'other.db')]))
})

t.test('a file that is no database, or cannot be written, is a typed error', async t => {
  const folder = t.testdir({ 'text.db': 'this is not a database, although it has a name like one. '.repeat(40) })
  const broken = openVault(t, join(folder, 'text.db'))
  await t.rejects(broken.set('A', 'x', CLI), { code: 'SEV_STORE_FAILED', message: /text\.db/ })
  t.match(await broken.status(), { problem: /text\.db/ })
  writeFileSync(join(folder, 'file'), '')
  await t.rejects(openVault(t, join(folder, 'file', 'vault.db')).set('A', 'x', CLI), { code: 'SEV_STORE_FAILED' })
})

t.test('invalid keys and values are refused before anything is written', async t => {
  const file = join(t.testdir(), 'vault.db')
  const vault = openVault(t, file)
  for (const key of ['', 'a\u0000', 'x'.repeat(257)])
    await t.rejects(vault.set(key, 'v', CLI), { code: 'SEV_KEY_INVALID' })
  for (const value of ['', 'x'.repeat(65_537)])
    await t.rejects(vault.set('A', value, CLI), { code: 'SEV_VALUE_INVALID' })
  await t.rejects(vault.rollback('A', 1, CLI), { code: 'SEV_UNKNOWN' })
  t.notOk(existsSync(file))
  await vault.set('A', 'v', CLI)
  await t.rejects(vault.rollback('A', 7, CLI), { code: 'SEV_VERSION_UNKNOWN' })
})

t.test('a killed process loses no version that it acknowledged, and leaves a valid row', async t => {
  const folder = t.testdir()
  const file = join(folder, 'vault.db')
  const keyring = memoryKeyring()
  await keyring.set('vox-secrets-vault', 'master', 'a'.repeat(64))
  const child = spawn(
    process.execPath,
    [...CHILD_ARGUMENTS, join(import.meta.dirname, 'writer-child.ts'), file, 'a'.repeat(64)],
    { stdio: ['ignore', 'pipe', 'inherit'] }
  )
  let acknowledged = 0
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Number(line)
    if (acknowledged === 5) child.kill('SIGKILL')
  }
  const vault = openVault(t, file, { keyring })
  const [latest] = await vault.versions('A')
  t.ok(acknowledged >= 5 && (latest?.version ?? 0) >= acknowledged, `${latest?.version} >= ${acknowledged}`)
  t.match(await vault.get('A', 'dev', 'cli'), { value: `value ${latest?.version}` })
})

t.test('a remote vault is used with its token, and a dropped connection loses nothing', async t => {
  const server = await startHranaServer(join(t.testdir(), 'remote.db'), 'vault-token')
  t.teardown(() => server.close())
  const open = (token: string): LocalVault => {
    const location = locationOf({ prefer: false, url: server.url, token }, { projectRoot: '/', policy: DEV, env: {} })
    const database = new VaultDatabase(location, 5_000, new AbortController().signal)
    t.teardown(() => database.close())
    return openVault(t, 'unused', { database, keyring })
  }
  const keyring = memoryKeyring()
  const vault = open('vault-token')
  t.equal(await vault.set('A', 'swordfish', CLI), 1)
  server.fault = 'drop'
  const error = await vault.set('A', 'opensesame', CLI).catch((caught: unknown) => caught)
  t.match(error, { code: 'SEV_STORE_FAILED' })
  t.notMatch(String((error as Error).message), /opensesame|vault-token/)
  server.fault = 'none'
  t.match(await vault.get('A', 'dev', 'cli'), { value: 'swordfish' })
  const refused = await open('wrong-token')
    .get('A', 'dev', 'cli')
    .catch((caught: unknown) => caught)
  t.match(refused, { code: 'SEV_STORE_FAILED' })
  t.notMatch(String((refused as Error).message), /wrong-token/)
})

t.test('the location follows the documented precedence', t => {
  const env = { SVC_SQL_URL: 'https://sql.example', LEGACY_SQL_URL: 'https://old.example', SVC_SQL_TOKEN: 'legacy' }
  const all = { path: 'p.db', url: 'https://url.example', default_path: 'd.db', prefer: true, hint: '1', token: 'own' }
  const place = (settings: object, policy: SecretsPolicy = DEV, variables: object = env) => {
    const at = { projectRoot: '/project', policy, env: variables as Record<string, string> }
    const named = { prefer: false, ...settings }
    return { ...locationOf(named, at), because: selectedBy(named, at) }
  }
  t.match(place(all), { file: '/project/p.db', urlSource: 'vault_path', tokenSource: 'vault_token' })
  const { path, ...withoutPath } = all
  t.match(place(withoutPath), { mode: 'remote', url: 'https://url.example', token: 'own', urlSource: 'vault_url' })
  t.match(place({ prefer: true }), { file: '/project/.vox/clavis_vault.db', urlSource: 'auto' })
  t.match(place({ hint: 'x', default_path: 'd.db' }), { file: '/project/d.db', urlSource: 'cloudless_db_path' })
  t.match(place({ default_path: 'd.db' }), { url: 'https://sql.example', token: 'legacy', urlSource: 'legacy_sql' })
  t.match(place({}, DEV, {}), { file: '/project/.vox/clavis_vault.db', urlSource: 'default', because: null })
  for (const refused of [
    policyOf({ profile: 'dev', phase: 'shadow', hardCut: true }),
    policyOf({ profile: 'dev', phase: 'enforce', hardCut: false }),
    policyOf({ profile: 'dev', phase: 'decommission', hardCut: false })
  ])
    t.match(place({}, refused), { urlSource: 'default', tokenSource: 'none', because: null })
  t.throws(() => place({ url: 'https://user:hush@a' }), { code: 'SEV_LOCATION_INVALID', message: /^(?!.*hush)/ })
  t.throws(() => place({ url: 'ftp://a' }), { code: 'SEV_LOCATION_INVALID' })
  t.end()
})

t.test(
  'a folder without write permission is an error that names the file',
  { skip: process.getuid?.() === 0 },
  async t => {
    const folder = join(t.testdir(), 'closed')
    mkdirSync(folder)
    chmodSync(folder, 0o500)
    t.teardown(() => chmodSync(folder, 0o700))
    await t.rejects(openVault(t, join(folder, 'v.db')).set('A', 'x', CLI), {
      code: 'SEV_STORE_FAILED',
      message: /v\.db/
    })
  }
)
