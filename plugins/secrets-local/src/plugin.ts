import { join, resolve } from 'node:path'
import {
  backupParts,
  type KernelAdmin,
  kernelAdmin,
  kernelPort,
  type SecretsPolicy,
  type SecretVault,
  secretBackend,
  secretErrors,
  secretKeyring,
  secretsPolicy,
  secretVault
} from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { vaultPart } from './backup-part.ts'
import { VaultDatabase } from './database.ts'
import { assertSeparate, LEGACY_VARIABLES, locationOf, pathOf, selectedBy } from './location.ts'
import { type Settings, settings } from './settings.ts'
import { DEFAULT_ACCOUNT, LocalVault } from './vault.ts'

const backend = secretBackend('vox_cloud')

export default definePlugin({
  name: 'secrets-local',
  summary: 'Encrypted vault of secrets in a file or a remote database, with versions and an audit log',
  config: settings,
  requires: { kernel: kernelPort, keyring: secretKeyring },
  optional: { admin: kernelAdmin },
  provides: [secretVault, backend],
  contributes: [backupParts],
  permissions: { fsRead: ['*'], fsWrite: ['*'], nativeAddons: true, env: LEGACY_VARIABLES },
  activate(ctx, { kernel, keyring, admin }) {
    const config: Settings = ctx.config
    const policy = secretsPolicy(admin)
    const place = { projectRoot: ctx.projectRoot, policy, env: process.env }
    const location = locationOf(config, place)
    assertSeparate(location, databaseFiles(admin, ctx.projectRoot, kernel.stateRoot))
    const database = new VaultDatabase(location, config.timeout_ms, ctx.signal)
    const vault = new LocalVault({
      database,
      keyring,
      policy,
      account: accountOf(config, admin),
      kek: { ref: config.kek_ref, version: config.kek_version },
      history: config.history,
      audited: config.audit_log || isAudited(policy),
      retention: { days: config.retention_days, rows: config.retention_rows },
      selectedBy: selectedBy(config, place),
      now: Date.now
    })
    ctx.provide(secretVault, vault)
    ctx.provide(backend, { resolve: name => resolveIn(vault, policy, name) })
    ctx.contribute(backupParts, vaultPart(location, keyring))
    return () => database.close()
  }
})

async function resolveIn(vault: SecretVault, { profile }: SecretsPolicy, name: string): Promise<string> {
  const found = await vault.get(name, profile, 'cli')
  if (found !== null) return found.value
  throw secretErrors.create('SEC_NOT_FOUND', `secret://vox_cloud/${name}: the vault has no secret of that name`, {
    hint: `svc secrets set ${name} --store vault stores it`
  })
}

function isAudited({ profile }: SecretsPolicy): boolean {
  return profile === 'prod' || profile === 'hard_cut'
}

/** Returns the account: the setting, else `SVC_ACCOUNT_ID` of the orchestrator, else the default. */
function accountOf({ account }: Settings, admin: KernelAdmin | undefined): string {
  if (account !== undefined) return account
  const shared = admin?.settings('orchestrator').find(({ env }) => env.includes('SVC_ACCOUNT_ID'))?.value
  return typeof shared === 'string' && shared !== '' ? shared : DEFAULT_ACCOUNT
}

/** Returns the files that the primary database uses or may use. */
function databaseFiles(admin: KernelAdmin | undefined, project: string, state: string): string[] {
  const settings = new Map(admin?.settings('plugins.database').map(({ key, value }) => [key, value]) ?? [])
  const text = (name: string): string | undefined => {
    const value = settings.get(`plugins.database.${name}`)
    return typeof value === 'string' ? value : undefined
  }
  const [path, url] = [text('path'), text('url')]
  const files = [join(state, 'store.db')]
  if (path !== undefined) files.push(resolve(project, path))
  if (url?.startsWith('file:') === true) files.push(resolve(project, pathOf(url, 'plugins.database.url')))
  return files
}
