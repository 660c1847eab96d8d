import { execFileSync } from 'node:child_process'
import '../../plugins/database/test/built-worker.ts'
import { noPostgres, PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import t, { type Test } from 'tap'
import type { BedPlace } from './bed-place.ts'
import { noFakeClock, shiftedClock } from './fake-clock.ts'
import { openPlanesBed, type PlanesOptions } from './planes-bed.ts'
import { runWorkload } from './workload.ts'

/** Seeds within which the planted fault must be found. */
const MAX_SEEDS = 5

const placeOf = (t: Test): BedPlace => ({ folder: t.testdir(), teardown: close => void t.teardown(close) })

async function run(t: Test, seed: number, options: PlanesOptions): Promise<void> {
  const bed = await openPlanesBed(placeOf(t), options)
  const { violations, unknown, grants, faults } = await runWorkload(bed, seed, {
    clients: 6,
    steps: 18,
    slowShare: 0.4,
    backlog: 20
  })
  t.same(violations, [])
  t.ok(grants > 10, `${grants} grants`)
  t.comment(`${faults} faults, ${unknown} calls without an answer`)
}

t.test('the clocks of processes can be an hour off', { skip: noFakeClock }, t => {
  for (const [offset, hours] of [
    ['+1h', 1],
    ['-1h', -1]
  ] as const) {
    const env = { ...process.env, ...shiftedClock(offset) }
    const shown = Number(execFileSync(process.execPath, ['-p', 'Date.now()'], { env, encoding: 'utf8' }))
    t.equal(Math.round((shown - Date.now()) / 3_600_000), hours)
  }
  t.end()
})

t.test('control planes on a file, with clocks of clients an hour off where that can be set', async t => {
  const clocks = noFakeClock === false ? ['+1h', '-1h'] : []
  await run(t, 31, { postgres: null, planes: 2, maxKills: 1, clocks })
})

t.test('control planes on PostgreSQL, with partitions between them and the server', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start()
  t.teardown(() => server.remove())
  await run(t, 32, { postgres: server, planes: 2, maxKills: 1 })
})

t.test('the checker finds acknowledgements without a fence', async t => {
  const found: string[] = []
  for (let seed = 1; seed <= MAX_SEEDS && found.length === 0; seed++)
    await t.test(`seed ${seed}`, async t => {
      const { disturb: _, ...bed } = await openPlanesBed(placeOf(t), {
        postgres: null,
        planes: 1,
        maxKills: 0,
        acksWithFence: false
      })
      // With a backlog, other clients claim almost every message whose lease has ended.
      const { violations } = await runWorkload(bed, seed, { clients: 6, steps: 12, slowShare: 2, backlog: 20 })
      found.push(...violations)
    })
  t.not(found.length, 0)
  t.comment(found[0])
})
