import { secretsResolver } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { envResolver } from './env-resolver.ts'

export default definePlugin({
  name: 'secrets-env',
  summary: 'Resolves secret://env/NAME references in the configuration from environment variables',
  provides: [secretsResolver],
  activate(ctx) {
    ctx.provide(secretsResolver, envResolver(process.env))
  }
})
