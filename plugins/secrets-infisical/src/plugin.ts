import { PROGRAM_VARIABLES, SecretProgram, secretBackend } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { InfisicalBackend } from './infisical-backend.ts'
import { settings } from './settings.ts'

const backend = secretBackend('infisical')

export default definePlugin({
  name: 'secrets-infisical',
  summary: 'Resolves secret://infisical/NAME references from an Infisical server',
  config: settings,
  provides: [backend],
  permissions: { fsRead: ['*'], childProcess: true, env: PROGRAM_VARIABLES },
  activate(ctx) {
    const { cli_path: path = 'infisical' } = ctx.config
    const program = new SecretProgram({
      product: 'Infisical',
      names: [path],
      variables: [],
      environment: process.env,
      signal: ctx.signal
    })
    ctx.provide(backend, new InfisicalBackend(ctx.config, { program }))
  }
})
