import { secretBackend } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { InfisicalBackend } from './infisical-backend.ts'
import { settings } from './settings.ts'

const backend = secretBackend('infisical')

export default definePlugin({
  name: 'secrets-infisical',
  summary: 'Resolves secret://infisical/NAME references from an Infisical server',
  config: settings,
  provides: [backend],
  activate(ctx) {
    ctx.provide(backend, new InfisicalBackend(ctx.config))
  }
})
