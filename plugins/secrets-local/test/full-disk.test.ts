import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { mountSmallDisk } from '../../../test/small-disk.ts'
import { openVault } from './open-vault.ts'

const CLI = { by: 'cli' }

interface SmallDisk {
  readonly folder: string
  /** Uses all space that is left. */
  fill(): void
  free(): void
}

/** Mounts a file system of 512 kB that can be filled; null where the user may not. */
function openSmallDisk(): SmallDisk | null {
  const folder = mountSmallDisk('512k')
  if (folder === null) return null
  const filler = join(folder, 'filler')
  return {
    folder,
    fill() {
      for (let bytes = 65_536; bytes >= 1; bytes = Math.floor(bytes / 2)) {
        try {
          for (;;) appendFileSync(filler, Buffer.alloc(bytes))
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        }
      }
    },
    free: () => rmSync(filler)
  }
}

const first = openSmallDisk()
const second = openSmallDisk()
const needsDisk = { skip: first === null || second === null ? 'this user may not mount a file system' : false }

t.test('a change that does not fit on the disk changes nothing, and the vault opens again', needsDisk, async t => {
  const disk = first as SmallDisk
  const file = join(disk.folder, 'vault.db')
  const vault = openVault(t, file, { audited: true })
  const big = 'x'.repeat(60_000)
  t.equal(await vault.set('A', 'swordfish', CLI), 1)
  disk.fill()
  const error = await vault.set('A', big, CLI).catch((caught: unknown) => caught)
  t.match(error, { code: 'SEV_STORE_FAILED', message: /vault\.db: .*full/, hint: /free space/ })
  t.notMatch(String((error as Error).message), /xxx/)
  t.match(await vault.override('A', 'prod', big, CLI).catch((caught: unknown) => caught), { code: 'SEV_STORE_FAILED' })
  const unaudited = openVault(t, file, { keyring: vault.keyring })
  t.match(await unaudited.get('A', 'dev', 'cli'), { value: 'swordfish' }, 'another process reads the old value')
  disk.free()
  t.equal(await vault.set('A', big, CLI), 2, 'the same process can write again')
  await vault.close()
  const again = openVault(t, file, { keyring: vault.keyring })
  t.match(await again.get('A', 'dev', 'cli'), { value: big })
  t.equal((await again.versions('A')).length, 2)
  t.equal(await again.rollback('A', 1, CLI), 3)
  t.match(await again.get('A', 'dev', 'cli'), { value: 'swordfish' })
})

t.test('a new vault on a full disk is an error, and works when there is space', needsDisk, async t => {
  const disk = second as SmallDisk
  const vault = openVault(t, join(disk.folder, 'vault.db'))
  disk.fill()
  await t.rejects(vault.set('A', 'swordfish', CLI), { code: 'SEV_STORE_FAILED', message: /vault\.db/ })
  t.equal(await vault.get('A', 'dev', 'cli'), null)
  disk.free()
  t.equal(await vault.set('A', 'swordfish', CLI), 1)
})
