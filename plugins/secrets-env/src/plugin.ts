import { secretBackend } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { envBackend } from './env-backend.ts'

const env = secretBackend('env')

export default definePlugin({
  name: 'secrets-env',
  summary: 'Resolves secret://env/NAME references in the configuration from environment variables',
  provides: [env],
  activate(ctx) {
    ctx.provide(env, envBackend(process.env))
  }
})
