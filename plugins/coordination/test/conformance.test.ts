import { coordinationSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { fileBeds, memoryBeds } from './beds.ts'

t.test('a store in a file satisfies the contract', async t => {
  for (const { name, run } of coordinationSuite({ open: fileBeds(t) })) await t.test(name, run)
})

t.test('a store in memory satisfies the contract', async t => {
  for (const { name, run } of coordinationSuite({ open: memoryBeds(t) })) await t.test(name, run)
})
