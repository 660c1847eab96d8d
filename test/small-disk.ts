import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'

/** Mounts a file system of `size`, such as `64k`, until the tests of the file have ended. Null where the user may not. */
export function mountSmallDisk(size: string): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'svc-small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    rmdirSync(folder)
    return null
  }
  t.teardown(() => {
    execFileSync('umount', ['-l', folder])
    rmdirSync(folder)
  })
  return folder
}
