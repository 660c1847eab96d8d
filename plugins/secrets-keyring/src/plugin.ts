import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { backupParts, secretBackend, secretErrors, secretKeyring } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { Keyring, openOsEntry } from './keyring.ts'
import { type Settings, settings } from './settings.ts'

const backend = secretBackend('keyring')
/** Collection of secrets that users store. */
const COLLECTION = 'vox-secrets'

export default definePlugin({
  name: 'secrets-keyring',
  summary: 'Secrets in the keyring of the operating system, or in private files',
  config: settings,
  provides: [secretKeyring, backend],
  contributes: [backupParts],
  permissions: {
    fsRead: ['*'],
    fsWrite: ['*'],
    nativeAddons: true,
    env: ['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR']
  },
  activate(ctx) {
    const { store, folder, timeout_ms: timeoutMs }: Settings = ctx.config
    const place = folder === undefined ? join(homedir(), '.vox', 'keyring') : resolve(ctx.projectRoot, folder)
    const keyring = new Keyring({ store, folder: place, timeoutMs, open: openOsEntry })
    ctx.provide(secretKeyring, keyring)
    // Other projects of the user share the default folder.
    if (folder !== undefined)
      ctx.contribute(backupParts, {
        name: 'secrets-keyring',
        summary: 'private files of the keyring',
        kind: 'keys',
        paths: () => [place]
      })
    ctx.provide(backend, {
      async resolve(name) {
        const secret = await keyring.get(COLLECTION, name)
        if (secret !== null) return secret
        const { place } = await keyring.status()
        throw secretErrors.create('SEC_NOT_FOUND', `secret://keyring/${name}: ${place} has no secret of that name`, {
          hint: `svc secrets set ${name} --store keyring stores it`
        })
      }
    })
  }
})
