import t from 'tap'
import { soak } from './soak.ts'

/** `bench/heap.ts` measures a thousand. A table that is held shows after ten: it has 200 KB. */
const RELOADS = 400
const BUDGET_BYTES = 2_048

t.test('hundreds of reloads of careless code leak no heap', { timeout: 600_000 }, async t => {
  const { reloads, perReload, resources } = await soak(RELOADS)
  t.equal(reloads, RELOADS)
  t.ok(perReload <= BUDGET_BYTES, `${Math.round(perReload)} bytes a reload`)
  t.ok(resources < 40, `${resources} active resources`)
})
