import { noPostgres, PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import t, { type Test } from 'tap'
import type { BedPlace } from './bed-place.ts'
import { openFailoverBed, openPostgresBed } from './postgres-bed.ts'
import { runWorkload } from './workload.ts'

/** Seeds within which the planted fault must be found. */
const MAX_SEEDS = 5

const placeOf = (t: Test): BedPlace => ({ folder: t.testdir(), teardown: close => void t.teardown(close) })

t.test('PostgreSQL', { skip: noPostgres }, async t => {
  t.test('a server that crashes, with processes and connections that fail, leaves a correct history', async t => {
    const server = await PostgresServer.start()
    t.teardown(() => server.remove())
    for (const seed of [21])
      await t.test(`seed ${seed}`, async t => {
        const bed = await openPostgresBed(placeOf(t), server)
        const { violations, unknown, grants, faults } = await runWorkload(bed, seed, { clients: 3, steps: 50 })
        t.same(violations, [])
        t.ok(grants > 10, `${grants} grants`)
        t.comment(`${faults} faults, ${unknown} calls without an answer`)
      })
  })

  t.test('a synchronous standby that is promoted has all that was acknowledged', async t => {
    const bed = await openFailoverBed(placeOf(t), { isSynchronous: true })
    const { violations, unknown, grants, faults } = await runWorkload(bed, 23, { clients: 3, steps: 60, backlog: 40 })
    t.same(violations, [])
    t.ok(grants > 10, `${grants} grants`)
    t.comment(`${faults} faults, ${unknown} calls without an answer`)
  })

  t.test('no fence repeats after the promotion of a standby that lags', async t => {
    const bed = await openFailoverBed(placeOf(t), { isSynchronous: false })
    const { violations, grants } = await runWorkload(bed, 24, { clients: 3, steps: 60, backlog: 40 })
    t.same(violations, [])
    t.ok(grants > 10, `${grants} grants`)
  })

  t.test('the checker finds a promotion that begins no epoch', async t => {
    const found: string[] = []
    for (let seed = 1; seed <= MAX_SEEDS && found.length === 0; seed++)
      await t.test(`seed ${seed}`, async t => {
        const bed = await openFailoverBed(placeOf(t), {
          isSynchronous: false,
          prepare:
            'create or replace function svc_coord.fence_floor_v1() returns bigint language sql as $$ select 0::bigint $$'
        })
        found.push(...(await runWorkload(bed, seed, { clients: 3, steps: 60, backlog: 40 })).violations)
      })
    t.not(found.length, 0)
    t.comment(found[0])
  })
})
