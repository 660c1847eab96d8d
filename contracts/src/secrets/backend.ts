import { type Service, type ServiceId, service } from '@svc/plugin-sdk'
import { secretsResolver } from './resolver.ts'

/** Resolves the references `secret://NAME/…` of one backend. A plugin provides it as {@link secretBackend}. */
export interface SecretBackend {
  /** Returns the value of a secret. Throws `SEC_NOT_FOUND`. No error may contain a secret value. */
  resolve(name: string, signal?: AbortSignal): Promise<string>
}

/**
 * Returns the service token of a backend. `name` consists of lower-case letters, digits, `_` and `-`.
 *
 * A setting that refers to the backend makes the token a requirement of the setting's plugin. The backend's own
 * settings may refer to other backends.
 */
export function secretBackend(name: string): Service<SecretBackend> {
  return service<SecretBackend>(`secrets.backend.${name}@1`)
}

/**
 * Returns the services that resolve references to these backends. `isProvided`: whether a known plugin provides a
 * service. A backend without its own plugin falls back to `secrets.resolver@1`, if that is provided.
 */
export function secretServices(backends: readonly string[], isProvided: (token: ServiceId) => boolean): ServiceId[] {
  const tokens = backends.map(name => {
    const { id } = secretBackend(name)
    return !isProvided(id) && isProvided(secretsResolver.id) ? secretsResolver.id : id
  })
  return [...new Set(tokens)]
}
