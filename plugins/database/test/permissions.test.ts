import './built-worker.ts'
import { chmodSync, copyFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import database from '#plugin'
import { databaseBackup, databaseRestore, databaseStatus } from '#root'
import { openMemory } from '#store'
import { FileConnection } from '#thread'
import { freshFile } from './files.ts'

const SKIP = process.platform === 'win32' ? 'Windows has no such permissions' : false
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

t.test('only the user can read new databases, their logs and backups, whatever the umask', { skip: SKIP }, async t => {
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  const kernel = await testKernel([database])
  t.teardown(() => kernel.close())
  const { location } = await kernel.call(databaseStatus, {})
  t.equal(modeOf(dirname(location)), '700')
  for (const suffix of ['', '-wal', '-shm']) t.equal(modeOf(`${location}${suffix}`), '600', `store.db${suffix}`)

  const { file } = await kernel.call(databaseBackup, {})
  t.equal(modeOf(file), '600')
  t.equal(modeOf(dirname(file)), '700')
  const open = `${freshFile()}-open`
  copyFileSync(file, open)
  chmodSync(open, 0o644)
  await kernel.call(databaseRestore, { file: open })
  await kernel.call(databaseStatus, {})
  for (const suffix of ['', '-wal', '-shm'])
    t.equal(modeOf(`${location}${suffix}`), '600', `restored store.db${suffix}`)

  const memory = await openMemory()
  const copy = freshFile()
  await memory.backup(copy)
  await memory.close()
  t.equal(modeOf(copy), '600')

  const program = join(`${freshFile()}-program`)
  const connection = new FileConnection({ file: program, busyTimeoutMs: 1_000, synchronous: 'normal' })
  connection.execute('CREATE TABLE items (id INTEGER PRIMARY KEY)')
  t.equal(modeOf(program), '600')
  t.equal(modeOf(`${program}-wal`), '600')
  connection.close()
})
