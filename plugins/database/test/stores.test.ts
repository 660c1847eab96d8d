import { databaseStoreSuite } from '@svc/contracts/conformance'
import t from 'tap'
import './built-worker.ts'
import { openFile, openMemory } from '#store'
import { freshFile } from './files.ts'

const stores = {
  'a file': () => openFile(freshFile(), { busyTimeoutMs: 5_000, synchronous: 'normal' }),
  memory: openMemory
}

for (const [name, open] of Object.entries(stores)) {
  t.test(`${name} satisfies the contract of a store`, async t => {
    for (const { name, run } of databaseStoreSuite({ open, freshFile })) await t.test(name, run)
  })
}
