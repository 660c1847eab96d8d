import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { PROGRAM_VARIABLES, SecretProgram, secretBackend } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { settings } from './settings.ts'
import { VaultBackend } from './vault-backend.ts'
import { VAULT_VARIABLES } from './vault-cli.ts'

const backend = secretBackend('vault')

export default definePlugin({
  name: 'secrets-vault',
  summary: 'Resolves secret://vault/NAME references from a HashiCorp Vault or OpenBao server',
  config: settings,
  provides: [backend],
  permissions: { fsRead: ['*'], childProcess: true, env: [...PROGRAM_VARIABLES, ...VAULT_VARIABLES] },
  activate(ctx) {
    const { cli_path: path } = ctx.config
    const program = new SecretProgram({
      product: 'Vault',
      names: path === undefined ? ['vault', 'bao'] : [path],
      variables: VAULT_VARIABLES,
      environment: process.env,
      signal: ctx.signal
    })
    ctx.provide(backend, new VaultBackend(ctx.config, { storedToken, program }))
  }
})

/** Returns the token that `vault login` or `bao login` stored; null without one. */
function storedToken(): string | null {
  try {
    const token = readFileSync(join(homedir(), '.vault-token'), 'utf8').trim()
    return token === '' ? null : token
  } catch {
    return null
  }
}
