import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { openFile } from '@svc/plugin-database/testing'
import { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import '../../database/test/built-worker.ts'
import { Templates } from './kill/seed.ts'
import { zenodoQueue } from './kill/zenodo-queue.ts'
import { openWorld } from './kit.ts'
import { ScriptedArchive } from './scripted-archive.ts'
import { ZenodoServer } from './zenodo-server.ts'

const TOKEN = 'fault-test-token'
const { signal } = new AbortController()

/** Store whose n-th write fails: without its effect, or with it, as when an answer of a database server is lost. */
function failingStore(store: DatabaseStore, failAt: number, hasEffect: boolean): DatabaseStore {
  let writes = 0
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>
      if (name !== 'batch' && name !== 'execute' && name !== 'transaction') return call
      return async (...args: unknown[]) => {
        writes += 1
        const isFailing = writes === failAt
        if (!isFailing || hasEffect) {
          const result = await call(...args)
          if (!isFailing) return result
        }
        throw new SvcError(hasEffect ? 'DBS_LOST' : 'DBS_FULL', 'the write failed')
      }
    }
  })
}

t.test('a database that fails at any write of a submission leads to exactly one deposit', async t => {
  const templates = await Templates.open()
  t.teardown(() => templates.close())
  for (let failAt = 1, isOver = false; !isOver; failAt++) {
    const hasEffect = failAt % 2 === 0
    // The server shows a new deposition in its lists at once, so that no attempt waits for it.
    const server = await ZenodoServer.open(t, { token: TOKEN })
    const { file, digest } = await templates.database(failAt)
    const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
    const options = { apiBase: server.base, token: TOKEN, settleSeconds: 0 }
    const broken = zenodoQueue(failingStore(store, failAt, hasEffect), options)
    const first = await broken.runner.run(1, { signal }).catch(() => null)
    const healthy = zenodoQueue(store, options)
    for (let at = 0; (await healthy.jobs.get(1)).status !== 'succeeded' && at < 10; at++) {
      // Time passes: a lock ends, and a job that waits is due.
      await store.execute(
        'UPDATE external_submission_jobs SET next_retry_at_ms = 0, lock_expires_at_ms = 0 WHERE id = 1'
      )
      await healthy.runner.run(1, { signal })
    }
    const label = `write ${failAt}, ${hasEffect ? 'with' : 'without'} its effect`
    t.equal((await healthy.jobs.get(1)).status, 'succeeded', label)
    t.equal(server.withDigest(digest).length, 1, label)
    t.equal((await healthy.submissions.list({ limit: 10 })).length, 1, label)
    // There were fewer writes.
    isOver = !hasEffect && first?.status === 'succeeded'
    await store.close()
  }
})

/** Mounts a small separate disk; null if this process may not mount one. */
function mountDisk(kibibytes: number): string | null {
  const folder = t.testdir({ disk: {} })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kibibytes}k`, 'tmpfs', join(folder, 'disk')], {
      stdio: 'ignore'
    })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', ['-l', join(folder, 'disk')]))
  return join(folder, 'disk')
}

const disk = mountDisk(4_096)
const needsDisk = { skip: disk === null ? 'a disk cannot be mounted here' : false }

t.test('on a full disk nothing is sent, and the job continues when there is space', needsDisk, async t => {
  const folder = join(disk ?? '', 'data')
  mkdirSync(folder)
  const archive = new ScriptedArchive([
    async (_manifest, { saveCheckpoint }) => {
      await saveCheckpoint({ filler: 'x'.repeat(200_000) })
      sent += 1
      return 'held'
    }
  ])
  let sent = 0
  const world = await openWorld(t, { adapters: [archive], databaseFile: join(folder, 'svc.db') })
  await world.prepare()
  const { job } = await world.submit({ adapter: 'test_archive', wait: false })
  const filler = join(folder, 'filler')
  for (let bytes = 4_000_000; bytes > 16_384; bytes = Math.floor(bytes * 0.7)) {
    try {
      writeFileSync(filler, Buffer.alloc(bytes), { flag: 'a' })
    } catch {
      // The rest does not fit.
    }
  }
  await world.tick().catch(() => [])
  t.equal(sent, 0)
  rmSync(filler)
  await world.execute('UPDATE external_submission_jobs SET next_retry_at_ms = 0, lock_expires_at_ms = 0')
  await world.tick()
  t.match(await world.jobs(), [{ id: job?.id, status: 'succeeded' }])
  t.equal(sent, 1)
})
