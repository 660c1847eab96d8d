import { service } from '@svc/plugin-sdk'

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

export interface SecretReference {
  readonly backend: string
  readonly name: string
}

/** Null when the text is not a reference. Throws nothing: `secret://env` without a name is not a reference. */
export function parseSecretReference(text: string): SecretReference | null {
  const match = /^secret:\/\/([a-z][a-z0-9_-]*)\/(.+)$/.exec(text)
  return match?.[1] === undefined || match[2] === undefined ? null : { backend: match[1], name: match[2] }
}
