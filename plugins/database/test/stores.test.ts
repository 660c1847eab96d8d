import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseStoreSuite } from '@svc/contracts/conformance'
import t from 'tap'
import './built-worker.ts'
import { openFile, openMemory } from '../src/store/local-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'stores-'))
t.teardown(() => rm(folder, { recursive: true }))
let files = 0
const freshFile = (): string => join(folder, `${(files += 1)}.db`)

const stores = {
  'a file': () => openFile(freshFile(), { busyTimeoutMs: 5_000, synchronous: 'normal' }),
  memory: openMemory
}

for (const [name, open] of Object.entries(stores)) {
  t.test(`${name} keeps the contract of a store`, async t => {
    for (const { name, run } of databaseStoreSuite({ open, freshFile })) await t.test(name, run)
  })
}
