import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { applyBaseline, openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { Records } from '#root'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { content, databaseFile, open } from './kit.ts'

const ANN = { name: 'ann', role: 'human' } as const
const BOB = { name: 'bob', role: 'human' } as const
const OPTIONS = { busyTimeoutMs: 10_000, synchronous: 'normal' } as const

const recordsOf = (store: DatabaseStore) =>
  new Records({ store, settings: () => ({ armed: true, dry_run: false }), log: { warn() {} }, changed: () => {} })

async function openRecords(file: string): Promise<{ records: Records; store: DatabaseStore }> {
  const store = await openFile(file, OPTIONS)
  await applyBaseline(store)
  return { records: recordsOf(store), store }
}

/** Approves in another process, which is killed before the n-th statement. Returns how it ended. */
async function approveAndDie(file: string, digest: string, step: number): Promise<string> {
  const child = fork(join(import.meta.dirname, 'approve-child.ts'), [file, digest, String(step)], {
    execArgv: [...CHILD_ARGUMENTS],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc']
  })
  const [code, signal] = await once(child, 'exit')
  return String(signal ?? code)
}

t.test('a process that is killed at any step of an approval leaves all of it or nothing', async t => {
  const folder = t.testdir()
  const file = join(folder, 'store.db')
  const before = await openRecords(file)
  const { content_sha3_256: digest } = await before.records.prepare(content())
  await before.records.approve('study-1', digest, ANN)
  await before.store.close()
  const read = async () => {
    const { records, store } = await openRecords(file)
    const [manifest, approvals, events] = [
      await records.get('study-1'),
      await records.approvals('study-1', digest),
      await records.history.events('study-1', 100)
    ]
    const gate = await records.gate({ publicationId: 'study-1', digest, dryRun: false })
    await store.close()
    return { state: manifest.state, approvers: approvals.length, events: events.length, open: gate.open }
  }
  const nothing = await read()
  t.strictSame(nothing, { state: 'draft', approvers: 1, events: 2, open: false })
  // After the approval is stored, between the change of the state and its event, and after the last statement.
  for (const step of [4, 8, 11]) {
    t.equal(await approveAndDie(file, digest, step), 'SIGKILL', `step ${step}`)
    t.strictSame(await read(), nothing, `killed at step ${step}`)
  }
  t.equal(await approveAndDie(file, digest, 1_000), '0')
  t.strictSame(await read(), { state: 'approved', approvers: 2, events: 4, open: true })
})

t.test('the gate closes when the file of the database is removed', async t => {
  const { kernel, records } = await open(t, { armed: true, dry_run: false })
  const { content_sha3_256: digest } = await records.prepare(content())
  for (const person of [ANN, BOB]) await records.approve('study-1', digest, person)
  const request = { publicationId: 'study-1', digest, dryRun: false }
  t.ok((await records.gate(request)).open)
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${databaseFile(kernel)}${suffix}`, { force: true })
  const closed = await records.gate(request)
  t.strictSame(closed, { open: false, codes: ['missing_db'], approvers: [] })
  t.ok(kernel.log.some(({ message }) => message.startsWith('the gate is closed')))
})

t.test('tables that a restored database lacks are created again', async t => {
  const store = await openFile(join(t.testdir(), 'store.db'), OPTIONS)
  t.teardown(() => store.close())
  await applyBaseline(store)
  const records = recordsOf(store)
  await records.prepare(content())
  await store.migrate('DROP TABLE publication_external_revisions; DROP TABLE publication_external_links')
  t.match(await records.prepare(content({ title: 'Other' })), { version: 2 })
  t.strictSame(await records.history.links('study-1', 10), [])
})

/** Mounts a small separate disk; null if this process may not mount one. */
function mountDisk(t: Test, kibibytes: number): string | null {
  const folder = join(t.testdir(), 'disk')
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

t.test('on a full disk content that does not fit is refused, and nothing acknowledged is lost', async t => {
  const disk = mountDisk(t, 4_096)
  if (disk === null) {
    t.pass('a disk cannot be mounted here')
    return
  }
  const file = join(disk, 'full.db')
  const { records, store } = await openRecords(file)
  const { content_sha3_256: digest } = await records.prepare(content())
  for (const person of [ANN, BOB]) await records.approve('study-1', digest, person)
  const kept = ['study-1']
  let refused: unknown
  for (let at = 0; at < 100 && refused === undefined; at += 1) {
    const id = `large-${at}`
    await records.prepare(content({ publication_id: id, body_markdown: 'x'.repeat(200_000) })).then(
      () => kept.push(id),
      error => {
        refused = error
      }
    )
  }
  t.match(refused, { code: 'DBS_FULL' })
  t.match(await records.get('study-1'), { state: 'approved' })
  await store.close()

  const again = await openRecords(file)
  const listed = await again.records.manifests.listWithApprovals({ limit: 1_000 })
  t.strictSame(listed.map(each => each.publication_id).sort(), kept.sort())
  t.equal((await again.records.approvals('study-1', digest)).length, 2)
  await again.store.close()
})
