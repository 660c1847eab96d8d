import type { SecretsResolver } from '@svc/contracts'
import { secretErrors } from './errors.ts'

/** Resolves `secret://env/NAME` from environment variables. An empty variable counts as absent. */
export function envResolver(env: Readonly<Record<string, string | undefined>>): SecretsResolver {
  return {
    backends: ['env'],
    async resolve({ backend, name }) {
      if (backend !== 'env') {
        throw secretErrors.create(
          'SEC_BACKEND_UNKNOWN',
          `secret://${backend}/${name}: no backend is called ${backend}`,
          {
            hint: 'the only backend here is env: secret://env/NAME'
          }
        )
      }
      const value = env[name]
      if (value !== undefined && value !== '') return value
      throw secretErrors.create('SEC_NOT_FOUND', `secret://env/${name}: the environment variable ${name} is not set`, {
        hint: `set ${name} before starting svc`
      })
    }
  }
}
