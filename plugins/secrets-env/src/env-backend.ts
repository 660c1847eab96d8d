import { type SecretBackend, secretErrors } from '@svc/contracts'

/**
 * Returns the backend that resolves `secret://env/NAME` from environment variables. An empty variable counts as unset.
 */
export function envBackend(env: Readonly<Record<string, string | undefined>>): SecretBackend {
  return {
    async resolve(name) {
      // Every object inherits properties such as `constructor`.
      const value = Object.hasOwn(env, name) ? env[name] : undefined
      if (value !== undefined && value !== '') return value
      throw secretErrors.create('SEC_NOT_FOUND', `secret://env/${name}: the environment variable ${name} is not set`, {
        hint: `set ${name} before you start svc`
      })
    }
  }
}
