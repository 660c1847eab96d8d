import { stat } from 'node:fs/promises'
import { serviceErrors } from './errors.ts'
import type { Account } from './service.ts'
import { runManager, type System } from './system.ts'

/**
 * Returns the user that runs a service of the system: the named one, or the owner of the project. Throws `SRV_USER` if it
 * is unknown, or is root and was not named.
 */
export async function accountOf(system: System, project: string, named: string | undefined): Promise<Account> {
  const account = await find(system, named ?? String((await stat(project)).uid))
  if (account === null) {
    throw serviceErrors.create('SRV_USER', `${named ?? `the owner of ${project}`}: there is no such user`, {
      hint: 'create it: useradd --system --create-home --home-dir /var/lib/svc svc'
    })
  }
  if (named === undefined && account.uid === 0) {
    throw serviceErrors.create('SRV_USER', `${project} belongs to root, and svc should not run as root`, {
      hint: 'give the folder to another user with chown, or name one with --run-as'
    })
  }
  return account
}

/** Looks an account up by its name or number. */
async function find(system: System, key: string): Promise<Account | null> {
  const { code, stdout } =
    system.platform === 'darwin'
      ? await runManager(system, 'id', ['-P', key])
      : await runManager(system, 'getent', ['passwd', key])
  // passwd(5); macOS has three more fields before the name in full.
  const fields = stdout.trim().split(':')
  const [name = '', , uid = '', gid = ''] = fields
  const home = fields.at(-2) ?? ''
  return code === 0 && name !== '' ? { name, uid: Number(uid), gid: Number(gid), home } : null
}
