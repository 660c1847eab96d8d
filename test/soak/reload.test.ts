import t from 'tap'
import { soak } from './soak.ts'

const RELOADS = 1_000
const BUDGET_BYTES = 2_048

t.test('a thousand reloads of careless code leave nothing on the heap', { timeout: 600_000 }, async t => {
  const { reloads, perReload, resources } = await soak(RELOADS)
  t.equal(reloads, RELOADS)
  t.ok(perReload <= BUDGET_BYTES, `${Math.round(perReload)} bytes a reload`)
  t.ok(resources < 40, `${resources} active resources`)
})
