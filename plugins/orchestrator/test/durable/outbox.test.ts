import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { applyBaseline, openMemory, openRemote } from '@svc/plugin-database/testing'
import fc from 'fast-check'
import t from 'tap'
import { startHranaServer } from '../../../database/test/hrana-server.ts'
import { type Fault, faulty } from './faulty-store.ts'
import { freshFile, openStore, openTestPersistence, recordsIn } from './test-persistence.ts'

async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 120_000; !holds(); await sleep(2))
    if (performance.now() > end) throw new Error('the condition was not met within two minutes')
}

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)

t.test('applies each change once and in order, whether transactions fail or succeed', async t => {
  const FAULTS: readonly Fault[] = ['none', 'refused', 'busy', 'full', 'unanswered', 'late']
  const memory = await openMemory()
  t.teardown(() => memory.close())
  await applyBaseline(memory)
  let runs = 0
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom(...FAULTS), { maxLength: 4 }),
    fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
    async (faults, bursts) => {
      const store = faulty(memory)
      const repositoryId = `repository ${(runs += 1)}`
      const { persistence, state, events } = await openTestPersistence(store, { repositoryId })
      store.faults.push(...faults)
      let id = 0
      const order: number[] = []
      for (const burst of bursts)
        await Promise.all(
          range(burst).map(() => {
            id += 1
            const own = id
            const changes = state.submit(own)
            changes.lineage.push({ kind: 'task_submitted', task_id: own })
            return persistence.committer.commit(changes).then(() => order.push(own))
          })
        )
      await persistence.close()
      const lineage = await store.query(
        'SELECT task_id FROM orchestration_lineage_events WHERE repository_id = ? ORDER BY id',
        [repositoryId]
      )
      const tasks = await store.query(
        "SELECT count(*) FROM orchestrator_records WHERE repository_id = ? AND kind = 'task'",
        [repositoryId]
      )
      const emitted = events.map(({ kind }) => (kind.type === 'task_started' ? kind.task_id : 0))
      const expected = JSON.stringify(range(id))
      return (
        JSON.stringify(order) === expected &&
        JSON.stringify(emitted) === expected &&
        JSON.stringify(lineage.rows.map(([task]) => task)) === expected &&
        tasks.rows[0]?.[0] === id
      )
    }
  )
  await t.resolves(fc.assert(property, { numRuns: 20 }))
})

t.test('applies a change without a caller once and in order, whether transactions fail or succeed', async t => {
  const FAULTS: readonly Fault[] = ['none', 'refused', 'busy', 'unanswered', 'late']
  const memory = await openMemory()
  t.teardown(() => memory.close())
  await applyBaseline(memory)
  let runs = 0
  const property = fc.asyncProperty(
    fc.array(fc.constantFrom(...FAULTS), { maxLength: 4 }),
    fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
    async (faults, waits) => {
      const store = faulty(memory)
      const repositoryId = `repository ahead ${(runs += 1)}`
      const { persistence, state, events } = await openTestPersistence(store, { repositoryId })
      const { committer } = persistence
      store.faults.push(...faults)
      await Promise.all(
        waits.map(async (isWaitedFor, at) => {
          const id = at + 1
          const submitted = committer.commit(state.submit(id))
          if (isWaitedFor) await submitted
          const begun = state.begin(id)
          // Every command changes this record, so commitAhead would wait for it.
          begun.records.delete('meta/commands')
          await committer.commitAhead(begun)
          const { rows } = await memory.query(
            "SELECT count(*) FROM orchestrator_records WHERE repository_id = ? AND kind = 'task' AND key = ?",
            [repositoryId, String(id)]
          )
          if (rows[0]?.[0] !== 1) throw new Error(`task ${id} was started before it was durable`)
        })
      )
      await persistence.close()
      const { rows } = await memory.query(
        "SELECT json_extract(value, '$.status') FROM orchestrator_records WHERE repository_id = ? AND kind = 'task'",
        [repositoryId]
      )
      const emitted = new Set(events.map(({ kind }) => JSON.stringify(kind)))
      return (
        rows.length === waits.length &&
        rows.every(([status]) => status === 'InProgress') &&
        events.length === waits.length * 2 &&
        emitted.size === events.length
      )
    }
  )
  await t.resolves(fc.assert(property, { numRuns: 20 }))
})

t.test('writes all changes in order once the database is available again', async t => {
  const store = faulty(await openStore())
  const { persistence, state, events, lines } = await openTestPersistence(store)
  const { committer } = persistence
  await committer.commit(state.submit(1))
  store.away = true
  const waiting = range(50).map(at => committer.commit(state.submit(at + 1)))
  await until(() => committer.status().failing !== null)
  t.match(committer.status(), { pending: 50, failing: /^DBS_UNREACHABLE/ })
  t.equal(typeof committer.status().oldest_ms, 'number')
  waiting.push(committer.commit(state.begin(1)))
  t.equal(events.length, 1, 'events of changes that are not durable are not published')
  store.away = false
  await Promise.all(waiting)
  t.same(
    events.map(({ id }) => id),
    range(52)
  )
  t.match(committer.status(), { pending: 0, oldest_ms: null, failing: null })
  t.equal((await recordsIn(store)).length, 51 + 1 + 1)
  t.equal(lines.filter(line => line.includes('wait for the database')).length, 1)
  await persistence.close()
})

t.test('a caller that times out gets an error, and its change is applied later', async t => {
  const store = faulty(await openStore())
  const { persistence, state, events } = await openTestPersistence(store, { settings: { commit_timeout_ms: 30 } })
  const { committer } = persistence
  store.away = true
  const impatient = committer.commit(state.submit(1), { waitMs: 1 })
  const second = state.submit(2)
  const committing = committer.commit(second)
  const patient = committer.commit(state.submit(3), { waitMs: 30_000 })
  await t.rejects(impatient, { code: 'ORC_NOT_DURABLE' })
  await t.rejects(committing, {
    code: 'ORC_NOT_DURABLE',
    message: /^Database error: .* is still waiting after \d+ ms: DBS_UNREACHABLE/,
    hint: /waits and is retried/
  })
  t.equal(committer.status().pending, 3)
  await t.rejects(committer.commit(second, { waitMs: 5 }), { code: 'ORC_NOT_DURABLE' })
  const again = committer.commit(second, { waitMs: 30_000 })
  t.equal(committer.status().pending, 3, 'waiting again does not duplicate the change')
  store.away = false
  await Promise.all([again, patient])
  t.equal(events.length, 3)
  t.equal((await recordsIn(store)).length, 4)
  await persistence.close()
})

t.test('rejects commands before they run while too many changes wait', async t => {
  const store = faulty(await openStore())
  const { persistence, state } = await openTestPersistence(store, { settings: { commit_queue_limit: 3 } })
  const { committer } = persistence
  committer.assertRoom()
  store.away = true
  const waiting = range(3).map(id => committer.commit(state.submit(id)))
  await until(() => committer.status().failing !== null)
  t.throws(() => committer.assertRoom(), {
    code: 'ORC_QUEUE_FULL',
    message: /^Queue full: 3 changes .* no response/
  })
  store.away = false
  await Promise.all(waiting)
  committer.assertRoom()
  await persistence.close()
})

t.test('a write waits for the lock of another writer', async t => {
  const file = freshFile()
  const store = await openStore(file, 10)
  const other = await openStore(file)
  const { persistence, state } = await openTestPersistence(store)
  let done: Promise<void> | undefined
  await other.transaction(async tx => {
    await tx.execute("INSERT INTO research_metrics (session_id, metric_type) VALUES ('a', 'b')")
    done = persistence.committer.commit(state.submit(1))
    await until(() => persistence.committer.status().failing !== null)
    t.match(persistence.committer.status().failing, /^DBS_BUSY/)
  })
  await done
  t.equal((await recordsIn(store)).length, 2)
  await persistence.close()
})

/** Mounts a small disk; null if this process may not mount one. */
function mountDisk(kibibytes: number): string | null {
  const folder = `${freshFile()}-disk`
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', ['-l', folder]))
  return folder
}

const disk = mountDisk(4_096)
const needsDisk = { skip: disk === null ? 'this process may not mount a disk' : false }

t.test('reports a full disk, and loses no waiting change', needsDisk, async t => {
  const folder = disk ?? ''
  const store = await openStore(join(folder, 'store.db'))
  const { persistence, state } = await openTestPersistence(store, { settings: { commit_timeout_ms: 50 } })
  await persistence.committer.commit(state.submit(1), { waitMs: 30_000 })
  const filler = join(folder, 'filler')
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(filler, Buffer.alloc(bavail * bsize - 65_536))
  const many = state.submit(2)
  for (const at of range(500))
    many.lineage.push({ kind: 'task_submitted', task_id: at, payload: { text: 'x'.repeat(1_000) } })
  await t.rejects(persistence.committer.commit(many, { waitMs: 2_000 }), {
    code: 'ORC_NOT_DURABLE',
    hint: /free space/
  })
  t.match(persistence.committer.status().failing, /^DBS_FULL/)
  rmSync(filler)
  await persistence.committer.commit(state.submit(3), { waitMs: 30_000 })
  t.same((await store.query('SELECT count(*) FROM orchestration_lineage_events')).rows, [[500]])
  await persistence.close()
})

t.test('close rejects the callers of unwritten changes', async t => {
  const store = faulty(await openStore())
  const { persistence, state, lines } = await openTestPersistence(store, { closeMs: 20 })
  store.away = true
  const left = persistence.committer.commit(state.submit(1))
  const closed = persistence.close()
  await t.rejects(left, { code: 'ORC_NOT_DURABLE', message: /closed before it was written/ })
  await closed
  t.match(lines.join('\n'), /the orchestrator closed with unwritten changes {"changes":1}/)
})

t.test('applies each change once while a remote database fails temporarily', async t => {
  const server = await startHranaServer(freshFile(), 'token')
  t.teardown(() => server.close())
  const store = await openRemote({ url: server.url, token: 'token', timeoutMs: 500 })
  t.teardown(() => store.close())
  await applyBaseline(store)
  const { persistence, state, events } = await openTestPersistence(store)
  let id = 0
  for (const fault of ['none', 'drop', 'drop-after', 'hang', 'broken', 'unauthorized'] as const) {
    server.fault = fault
    const waiting = range(5).map(() => {
      id += 1
      const changes = state.submit(id)
      changes.lineage.push({ kind: 'task_submitted', task_id: id })
      return persistence.committer.commit(changes)
    })
    if (fault !== 'none') await until(() => persistence.committer.status().failing !== null)
    server.fault = 'none'
    await Promise.all(waiting)
  }
  const { rows } = await store.query('SELECT task_id FROM orchestration_lineage_events ORDER BY id')
  t.same(
    rows.map(([task]) => task),
    range(30)
  )
  t.same(
    events.map(({ id }) => id),
    range(30)
  )
  await persistence.close()
  const again = await openTestPersistence(store)
  t.equal(again.recovery.records, 31)
  await again.persistence.close()
})
