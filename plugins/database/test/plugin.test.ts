import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseStore, type KernelAdmin, kernelAdmin, type PrimaryDatabase } from '@svc/contracts'
import { defineOperation, definePlugin, t as schema } from '@svc/plugin-sdk'
import { fake, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import database from '#plugin'
import { databaseBackup, databaseRestore, databaseStatus, journeySteps } from '#root'
import './built-worker.ts'

const count = defineOperation({
  id: 'test.count',
  summary: 'Add a user and count all users',
  input: schema.object({ name: schema.string() }),
  output: schema.object({ users: schema.integer() })
})

/** Another plugin that uses the database. */
const user = definePlugin({
  name: 'user',
  requires: { store: databaseStore },
  operations: [count],
  activate(ctx, { store }: { store: PrimaryDatabase }) {
    ctx.implement(count, async ({ name }) => {
      await store.execute('INSERT INTO users (id) VALUES (?)', [name])
      return { users: Number((await store.query('SELECT count(*) FROM users')).rows[0]?.[0]) }
    })
  }
})

t.test('other plugins use the store of the project, and the status shows it', async t => {
  const kernel = await testKernel([database, user])
  t.equal((await kernel.call(count, { name: 'a' })).users, 1)
  const status = await kernel.call(databaseStatus, {})
  t.match(status, { healthy: true, mode: 'file', schema_version: 1, missing_tables: [] })
  t.ok(existsSync(status.location))
  await kernel.close()
})

t.test('lists the steps of the canonical journey, and rejects an unknown journey', async t => {
  const kernel = await testKernel([database])
  const { journey_id, steps } = await kernel.call(journeySteps, {})
  t.equal(journey_id, 'canonical_journey.v1.greenfield_vox_mens_devloop')
  t.same(
    steps.map(({ ordinal, step_id }) => [ordinal, step_id]),
    [
      [1, 'bootstrap_repo'],
      [2, 'open_workspace_store'],
      [3, 'author_compile'],
      [4, 'structured_plan'],
      [5, 'agentic_assist'],
      [6, 'research_evidence'],
      [7, 'corpus_train'],
      [8, 'verify_ship']
    ]
  )
  await t.rejects(kernel.call(journeySteps, { journey_id: 'other' }), { code: 'DBP_JOURNEY_UNKNOWN' })
  await kernel.close()
})

t.test('a backup is written during use, and can be restored', async t => {
  const kernel = await testKernel([database, user])
  await kernel.call(count, { name: 'a' })
  const copy = await kernel.call(databaseBackup, { file: 'copies/first.db' })
  t.equal(copy.file, join(kernel.root, 'copies/first.db'))
  const unnamed = await kernel.call(databaseBackup, {})
  t.match(unnamed.file, /copy-[\dTZ-]+\.db$/)
  await t.rejects(kernel.call(databaseBackup, { file: 'copies/first.db' }), { code: 'DBS_BACKUP_FAILED' })
  t.equal((await kernel.call(count, { name: 'b' })).users, 2)

  const { kept, file } = await kernel.call(databaseRestore, { file: 'copies/first.db' })
  t.ok(kept !== null && existsSync(kept), 'the replaced database is kept')
  t.equal((await kernel.call(count, { name: 'c' })).users, 2, 'users a and c exist')
  t.equal((await kernel.call(databaseStatus, {})).location, file)
  await kernel.close()
})

t.test('restore rejects an invalid backup before any change', async t => {
  const kernel = await testKernel([database, user])
  await kernel.call(count, { name: 'a' })
  writeFileSync(join(kernel.root, 'letter.txt'), 'dear database,'.repeat(100))
  for (const file of ['letter.txt', 'missing.db', '.'])
    await t.rejects(
      kernel.call(databaseRestore, { file }),
      { code: 'DBP_BACKUP_INVALID', hint: /svc db backup/, message: /cannot be restored: (?!.*restoring-)/ },
      file
    )
  t.equal((await kernel.call(count, { name: 'b' })).users, 2)
  const { location } = await kernel.call(databaseStatus, {})
  t.same(
    readdirSync(join(location, '..')).filter(name => /restoring|before/.test(name)),
    []
  )
  await kernel.close()
})

t.test('restore does not replace a database that another process has open', async t => {
  const kernel = await testKernel([database, user])
  await kernel.call(count, { name: 'a' })
  await kernel.call(databaseBackup, { file: 'copy.db' })
  const { location } = await kernel.call(databaseStatus, {})
  const script = `const db = new (require('libsql'))(process.argv[1]); db.prepare('SELECT * FROM users').all([]);
    console.log('open'); process.stdin.resume()`
  const other = spawn(process.execPath, ['-e', script, location], {
    cwd: import.meta.dirname,
    stdio: ['pipe', 'pipe', 'inherit']
  })
  await once(other.stdout, 'data')
  await t.rejects(kernel.call(databaseRestore, { file: 'copy.db' }), {
    code: 'DBS_BUSY',
    message: /is open in another process/
  })
  t.equal((await kernel.call(count, { name: 'b' })).users, 2)
  other.stdin.end()
  await once(other, 'exit')
  await kernel.call(databaseRestore, { file: 'copy.db' })
  t.equal((await kernel.call(count, { name: 'c' })).users, 2)
  await kernel.close()
})

t.test('a reload keeps all rows', async t => {
  const kernel = await testKernel([database, user])
  await kernel.call(count, { name: 'a' })
  const writes = Array.from({ length: 50 }, (_, at) => kernel.call(count, { name: `n${at}` }))
  await kernel.replace(database)
  await Promise.all(writes)
  t.equal((await kernel.call(count, { name: 'z' })).users, 52)
  await kernel.close()
})

t.test('without a writable state folder, only plugins that use the database fail', async t => {
  const settings = { database: { journey_fallback_canonical: false } }
  const kernel = await testKernel([database, user], { settings })
  t.notOk(existsSync(join(kernel.root, '.vox')), 'no database is created before its first use')
  writeFileSync(join(kernel.root, '.vox'), 'no folder')
  await t.rejects(kernel.call(count, { name: 'a' }), { code: 'DBS_OPEN_FAILED', hint: /SVC_DB_PATH/ })
  await kernel.close()

  const other = await testKernel([database, user], { settings: { database: { path: 'own/store.db' } } })
  writeFileSync(join(other.root, '.vox'), 'no folder')
  t.equal((await other.call(count, { name: 'a' })).users, 1)
  await other.close()
})

t.test('a URL without a token fails the activation with the name of the setting', async t => {
  const failed = testKernel([database], { settings: { database: { url: 'https://db.example' } } })
  await t.rejects(failed, { message: /plugins\.database\.url/ })
})

t.test('an option that the engine does not support fails the activation, and the error names both', async t => {
  await t.rejects(testKernel([database], { settings: { database: { mvcc: true } } }), {
    code: 'DBP_MVCC_UNSUPPORTED',
    message: /SVC_DB_MVCC.*libSQL/
  })
})

t.test('the cutover of secrets refuses the deprecated names of a remote database, and warns of them', async t => {
  const settings = { database: { sql_url: 'http://127.0.0.1:9', sql_token: 'hush' } }
  for (const [key, value] of [
    ['plugins.secrets.hard_cut', true],
    ['plugins.secrets.cutover_phase', 'enforce'],
    ['plugins.secrets.cutover_phase', 'shadow']
  ] as const) {
    const admin = { settings: () => [{ key, value }] } as unknown as KernelAdmin
    const kernel = await testKernel([database], { settings, services: [fake(kernelAdmin, admin)] })
    const isRefused = value !== 'shadow'
    t.match(await kernel.call(databaseStatus, {}), { mode: isRefused ? 'file' : 'remote' }, `${key}=${value}`)
    const warnings = kernel.log.filter(({ level, message }) => level === 'warn' && message.includes('deprecated'))
    t.match(warnings, isRefused ? [{ fields: { refused: ['sql_url', 'sql_token'] } }] : [])
    t.notMatch(JSON.stringify(kernel.log), 'hush')
    await kernel.close()
  }
})
