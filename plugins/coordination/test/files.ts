import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

const folder = mkdtempSync(join(tmpdir(), 'coordination-'))
t.teardown(() => rm(folder, { recursive: true, maxRetries: 5 }))
let files = 0

/** Returns an unused path in a folder of the test. */
export function freshFile(): string {
  files += 1
  return join(folder, `${files}.db`)
}
