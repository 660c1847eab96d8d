import { type SecretReference, service } from '@svc/plugin-sdk'

export { parseSecretReference, type SecretReference } from '@svc/plugin-sdk'

/**
 * Turns `secret://backend/name` references in configuration into values.
 *
 * Its own settings may not hold such references: secrets have to start somewhere.
 */
export const secretsResolver = service<SecretsResolver>('secrets.resolver@1')

export interface SecretsResolver {
  /** Backends that answer now, for example `env`. */
  readonly backends: readonly string[]
  /** Throws `SEC_BACKEND_UNKNOWN` or `SEC_NOT_FOUND`; neither message holds a value. */
  resolve(reference: SecretReference, signal?: AbortSignal): Promise<string>
}
