import { type SecretReference, service } from '@svc/plugin-sdk'

export { parseSecretReference, type SecretReference } from '@svc/plugin-sdk'

/**
 * Resolves `secret://backend/name` references of every backend without a separate plugin.
 *
 * @deprecated Provide {@link secretBackend} instead. This service is removed in the next minor version.
 */
export const secretsResolver = service<SecretsResolver>('secrets.resolver@1')

export interface SecretsResolver {
  /** Available backends, for example `env`. */
  readonly backends: readonly string[]
  /** Throws `SEC_BACKEND_UNKNOWN` or `SEC_NOT_FOUND`; neither message may contain a secret value. */
  resolve(reference: SecretReference, signal?: AbortSignal): Promise<string>
}
