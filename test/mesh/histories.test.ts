import '../../plugins/database/test/built-worker.ts'
import t from 'tap'
import { openProcessBed } from './process-bed.ts'
import { runWorkload } from './workload.ts'

for (const seed of [11, 12]) {
  t.test(`processes that are killed and paused leave a correct history: seed ${seed}`, async t => {
    const bed = await openProcessBed({ folder: t.testdir(), teardown: close => void t.teardown(close) })
    const { violations, unknown, grants, faults } = await runWorkload(bed, seed, { clients: 3, steps: 80 })
    t.same(violations, [])
    t.ok(grants > 10, `${grants} grants`)
    t.comment(`${faults} faults, ${unknown} calls without an answer`)
  })
}
