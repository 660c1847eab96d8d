import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BackupPart, type SecretKeyring, vaultErrors } from '@svc/contracts'
import { hostHint, type VaultLocation } from './location.ts'
import { MASTER } from './master-key.ts'

const FILE = 'master-password'

/**
 * Returns the vault for backups: its file, and the master password of the keyring, without which the file is unreadable.
 * A restore never replaces another master password, with which other projects of the user may have vaults.
 */
export function vaultPart(location: VaultLocation, keyring: Pick<SecretKeyring, 'get' | 'getOrCreate'>): BackupPart {
  const check = async (folder: string): Promise<string> => {
    const restored = await readFile(join(folder, FILE), 'utf8')
    const found = await keyring.get(MASTER.collection, MASTER.account)
    if (found === null || found === restored) return restored
    throw vaultErrors.create('SEV_MASTER_MISSING', 'the keyring of this user has another master password', {
      hint: 'restore as another user, or leave the vault out: svc restore FILE --without-keys'
    })
  }
  return {
    name: 'secrets-local',
    summary: 'vault of secrets, with its master password',
    kind: 'keys',
    paths: () => (location.mode === 'local_file' ? [location.file] : []),
    elsewhere: () => (location.mode === 'local_file' ? null : `back up the vault on its server, ${hostHint(location)}`),
    async export(folder) {
      const password = await keyring.get(MASTER.collection, MASTER.account)
      if (password !== null) await writeFile(join(folder, FILE), password, { mode: 0o600 })
    },
    async check(folder) {
      await check(folder)
    },
    async import(folder) {
      const password = await check(folder)
      await keyring.getOrCreate(MASTER.collection, MASTER.account, () => password)
    }
  }
}
