import { coordinationSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { remoteBed } from './beds.ts'

t.test('a store in a remote database satisfies the contract', async t => {
  for (const { name, run } of coordinationSuite({ open: remoteBed })) await t.test(name, run)
})
