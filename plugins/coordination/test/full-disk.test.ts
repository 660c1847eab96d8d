import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openFile } from '@svc/plugin-database/testing'
import t from 'tap'
import { DatabaseCoordination } from '#root'
import { freshFile } from './files.ts'

/** Mounts a small separate disk; null if this process may not mount one. */
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

const disk = mountDisk(1_024)
const needsDisk = { skip: disk === null ? 'a disk cannot be mounted here' : false }
const OPTIONS = { busyTimeoutMs: 2_000, synchronous: 'full' } as const

t.test('on a full disk the call that does not fit fails, and no acknowledged item is lost', needsDisk, async t => {
  const file = join(disk ?? '', 'full.db')
  const database = await openFile(file, OPTIONS)
  const store = new DatabaseCoordination(database)
  await store.put([{ queue: 'small', body: '0', key: 'k0' }])
  const large = { queue: 'large', body: JSON.stringify('x'.repeat(2_000_000)), key: 'large' }
  const [first, second, third] = await Promise.allSettled([
    store.put([{ queue: 'small', body: '1', key: 'k1' }]),
    store.put([large]),
    store.put([{ queue: 'small', body: '2', key: 'k2' }])
  ])
  t.match(second, { status: 'rejected', reason: { code: 'CRD_FAILED', message: /full\.db/ } })
  t.equal(first.status, 'fulfilled', 'calls of the same turn succeed')
  t.equal(third.status, 'fulfilled')

  const kept = ['0', '1', '2']
  for (let at = 3; at < 1_000; at += 1) {
    const body = JSON.stringify(`${at} ${'x'.repeat(20_000)}`)
    const error = await store.put([{ queue: 'small', body, key: `k${at}` }]).then(
      () => null,
      (caught: unknown) => caught
    )
    if (error !== null) {
      t.match(error, { code: 'CRD_FAILED' })
      break
    }
    kept.push(body)
  }
  t.ok(kept.length < 1_000, 'the disk is full')
  await store.close()
  await database.close()

  const again = await openFile(file, OPTIONS)
  const reopened = new DatabaseCoordination(again)
  t.equal(await reopened.count('small'), kept.length)
  t.equal(await reopened.count('large'), 0)
  const shown = await reopened.look('small', { limit: 1_000 })
  t.same(shown.map(({ body }) => body).reverse(), kept)
  await reopened.close()
  await again.close()
})
