import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedItem, Coordination } from '@svc/contracts'
import { coordinationSuite } from '@svc/contracts/conformance'
import { openFile } from '@svc/plugin-database/testing'
import t from 'tap'
import { DatabaseCoordination } from '#root'
import { freshFile } from './files.ts'
import { StoreProcess } from './process-store.ts'

t.test('stores in four processes on one file satisfy the contract', async t => {
  // Each case has its own file, and its own connections in the processes.
  const processes = await Promise.all([1, 2, 3, 4].map(() => StoreProcess.start()))
  t.teardown(() => Promise.all(processes.map(each => each.close())))
  let cases = 0
  const open = async () => {
    const file = freshFile()
    const used: StoreProcess[] = []
    const another = async (): Promise<Coordination> => {
      const process = processes[(cases + used.length) % 4] as StoreProcess
      used.push(process)
      return process.store(file)
    }
    cases += 1
    const close = async (): Promise<void> => {
      await Promise.all(used.map(process => process.closeStore(file)))
    }
    return { store: await another(), another, close }
  }
  for (const { name, run } of coordinationSuite({ open })) await t.test(name, run)
})

/** A grant of an item, in the store's time. */
interface Grant {
  readonly fence: number
  readonly from: number
  until: number
  readonly holder: string
}

t.test('four processes that are killed and stopped lose no item, and no lease has two holders', async t => {
  const ITEMS = 150
  const LEASE_MS = 150
  const file = freshFile()
  const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
  const observer = new DatabaseCoordination(database)
  const grants = new Map<number, Grant[]>()
  const acked = new Map<number, number>()
  const unknown = new Set<number>()
  const put = new Set<number>()
  const workers: (StoreProcess | undefined)[] = []
  const killed = new WeakSet<StoreProcess>()
  let isOver = false

  const work = async (worker: StoreProcess, name: string): Promise<void> => {
    for (let at = 0; !isOver; at += 1) {
      const items: readonly ClaimedItem[] = await worker.store(file).claim('q', name, { max: 2, leaseMs: LEASE_MS })
      if (items.length === 0) await sleep(5)
      for (const { id, fence, visibleAt } of items) {
        const grant: Grant = { fence, from: visibleAt - LEASE_MS, until: visibleAt, holder: name }
        grants.set(id, [...(grants.get(id) ?? []), grant])
        // Some workers extend, some sleep past their lease, some return the item.
        if ((id + at) % 5 === 0) {
          const before = await observer.now()
          const [extended] = await worker.store(file).extend([{ id, fence }], LEASE_MS)
          // The new end is at least this.
          if (extended === true) grant.until = Math.max(grant.until, before + LEASE_MS)
        }
        await sleep((id + at) % 7 === 0 ? LEASE_MS * 1.5 : 1)
        if ((id + at) % 11 === 0) {
          await worker.store(file).nack([{ id, fence }], { delayMs: 1 })
          const [last] = (grants.get(id) ?? []).filter(each => each === grant)
          if (last !== undefined) last.until = last.from
          continue
        }
        unknown.add(id)
        const [ok] = await worker.store(file).ack([{ id, fence }])
        unknown.delete(id)
        if (ok === true) {
          acked.set(id, (acked.get(id) ?? 0) + 1)
          const highest = Math.max(...(grants.get(id) ?? []).map(each => each.fence))
          t.ok(fence >= highest, 'an accepted acknowledgement has the highest fence so far')
        }
      }
    }
    await worker.close()
  }
  const start = async (slot: number, life: number): Promise<void> => {
    const worker = await StoreProcess.start()
    workers[slot] = worker
    worker.child.once('exit', () => {
      if (workers[slot] === worker) workers[slot] = undefined
    })
    // A killed process ends its work with an error, which may come before its end is noticed.
    await work(worker, `w${slot}.${life}`).catch(async error => {
      if (!killed.has(worker)) throw error
      if (!isOver) await start(slot, life + 1)
    })
  }
  const running = Promise.all([0, 1, 2, 3].map(slot => start(slot, 0)))
  running.catch(() => {
    isOver = true
  })

  // A producer repeats each put until it has an answer; the key makes that safe.
  const produce = async (): Promise<void> => {
    for (let at = 0; at < ITEMS; at += 1) {
      for (let isPut = false; !isPut && !isOver; ) {
        const worker = workers[at % 4]
        if (worker === undefined) {
          await sleep(5)
          continue
        }
        isPut = await worker
          .store(file)
          .put([{ queue: 'q', body: String(at), key: `k${at}` }])
          .then(
            ([result]) => {
              put.add(result?.id as number)
              return true
            },
            // Waits, so that the end of a killed process is noticed: calls of such a process fail at once.
            () => sleep(5, false)
          )
      }
    }
  }
  const produced = produce()
  let kills = 0
  while ((await observer.count('q')) > 0 || put.size < ITEMS) {
    if (isOver) break
    const victim = workers[kills % 4]
    if (victim !== undefined && kills % 3 === 2) {
      victim.child.kill('SIGSTOP')
      await sleep(LEASE_MS * 2)
      victim.child.kill('SIGCONT')
      kills += 1
    } else if (victim !== undefined && kills < 12) {
      killed.add(victim)
      await victim.kill()
      kills += 1
    }
    await sleep(60)
  }
  await produced
  isOver = true
  await running

  t.ok(kills >= 3, 'processes were killed and stopped')
  t.equal(put.size, ITEMS, 'each key has one item')
  t.equal(await observer.count(''), 0)
  t.same(
    [...acked].filter(([, count]) => count > 1),
    [],
    'an item is acknowledged at most once'
  )
  for (const id of put)
    if (!acked.has(id)) t.ok(unknown.has(id), `item ${id} was acknowledged by a process that was killed in the call`)
  for (const [id, list] of grants) {
    const ordered = [...list].sort((a, b) => a.fence - b.fence)
    for (const [at, { fence, from, holder }] of ordered.entries()) {
      const before = ordered[at - 1]
      if (before === undefined) continue
      t.not(fence, before.fence, `a fence of item ${id} is granted once`)
      t.ok(from >= before.until, `item ${id} passes from ${before.holder} to ${holder} after the end of the lease`)
    }
  }
  await observer.close()
  await database.close()
})
