import { service } from '@svc/plugin-sdk'

/** Outcomes of the search for a declared secret. */
export const SECRET_STATUSES = [
  'Present',
  'MissingOptional',
  'MissingRequired',
  'InvalidEmpty',
  'DeprecatedAliasUsed',
  'RejectedLegacyAlias',
  'RejectedSourcePolicy',
  'RejectedClassPolicy',
  'BackendUnavailable',
  'ProfileOverrideUsed',
  'StaleRotation',
  'NearingExpiry'
] as const
export type SecretStatus = (typeof SECRET_STATUSES)[number]

/** Places that a declared secret can come from. */
export const SECRET_SOURCES = [
  'EnvCanonical',
  'EnvAlias',
  'SecureStore',
  'AuthJson',
  'LegacyAuthToken',
  'MeshEnvFile',
  'ExternalBackend'
] as const
export type SecretSource = (typeof SECRET_SOURCES)[number]

/** Outcome for one secret, without its value. */
export interface SecretFinding {
  readonly id: string
  readonly status: SecretStatus
  readonly source: SecretSource | null
  /** Variable, file, or backend with the key; null if there is none. */
  readonly place: string | null
  /** Why a value is absent or was rejected, or null. Contains no secret. */
  readonly detail: string | null
  readonly present: boolean
}

/**
 * Resolves declared secrets in the documented order: environment, backend, keyring and auth file, mesh file. Users refer
 * to them in settings as `secret://auto/ID` or `secret://auto/VARIABLE`.
 */
export const declaredSecretResolver = service<DeclaredSecretResolver>('secrets.declared@1')

export interface DeclaredSecretResolver {
  /** Returns the outcome for an id or a variable. Throws `SEC_UNDECLARED`. */
  find(idOrVariable: string, signal?: AbortSignal): Promise<SecretFinding>
  /**
   * Returns the value. Throws `SEC_UNDECLARED`, `SEC_NOT_FOUND`, `SEC_REJECTED` and `SEC_BACKEND_UNAVAILABLE`. No error
   * contains a secret value.
   */
  resolve(idOrVariable: string, signal?: AbortSignal): Promise<string>
}
