import t from 'tap'
import { soak } from './soak.ts'

/** Number of reloads. A leaked table of 200 KB would show after ten; `bench/heap.ts` measures a thousand. */
const RELOADS = 400
const BUDGET_BYTES = 2_048

t.test('hundreds of reloads of careless code leak no heap', { timeout: 600_000 }, async t => {
  const { reloads, perReload, resources } = await soak(RELOADS)
  t.equal(reloads, RELOADS)
  t.ok(perReload <= BUDGET_BYTES, `${Math.round(perReload)} bytes a reload`)
  t.ok(resources < 40, `${resources} active resources`)
})
