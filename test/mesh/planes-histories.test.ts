import '../../plugins/database/test/built-worker.ts'
import { noPostgres, PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import t, { type Test } from 'tap'
import type { BedPlace } from './bed-place.ts'
import { noFakeClock } from './fake-clock.ts'
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
  t.ok(grants > 20, `${grants} grants`)
  t.comment(`${faults} faults, ${unknown} calls without an answer`)
}

t.test('control planes on a file, with clocks of clients an hour off', { skip: noFakeClock }, async t => {
  await run(t, 31, { postgres: null, planes: 2, maxKills: 1, clocks: ['+1h', '-1h'] })
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
      const { violations } = await runWorkload(bed, seed, { clients: 6, steps: 12, slowShare: 2 })
      found.push(...violations)
    })
  t.not(found.length, 0)
  t.comment(found[0])
})
