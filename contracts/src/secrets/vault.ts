import { service } from '@svc/plugin-sdk'
import type { SecretProfile } from './policy.ts'

/** The encrypted vault: secrets of an account in a file or a remote database, with versions and an audit log. */
export const secretVault = service<SecretVault>('secrets.vault@1')

/** Kinds of changes that versions record. */
export const VAULT_OPERATIONS = ['create', 'rotate', 'import', 'rollback', 'rewrap'] as const
export type VaultOperation = (typeof VAULT_OPERATIONS)[number]

/** A secret of the vault. */
export interface VaultSecret {
  readonly value: string
  /** Whether the row of the profile was used instead of the canonical one. */
  readonly overridden: boolean
  readonly rotatedAtMs: number
}

export interface VaultVersion {
  readonly version: number
  readonly operation: VaultOperation
  /** `cli`, `api`, `mcp` or `agent:ID`. */
  readonly createdBy: string
  readonly createdAtMs: number
  readonly current: boolean
}

export interface VaultAuditRow {
  /** Grows with each row of a vault. */
  readonly id: number
  readonly atMs: number
  readonly secret: string
  readonly action: string
  readonly actor: string
  readonly outcome: string
  readonly detail: string
}

/** Author of a change: `cli`, `api`, `mcp` or `agent:ID`. */
export interface VaultChange {
  readonly by: string
  readonly operation?: VaultOperation
}

export interface VaultStatus {
  readonly mode: 'local_file' | 'remote'
  /** Origin of the URL: `vault_path`, `vault_url`, `cloudless_db_path`, `auto`, `legacy_sql`, `default`. */
  readonly urlSource: string
  /** Host of a remote vault, or file name of a local one. */
  readonly hostHint: string
  readonly tokenSource: string
  readonly tokenPresent: boolean
  readonly compatAliasesAllowed: boolean
  readonly account: string
  readonly accountIsDefault: boolean
  /** Setting or variable that selects the vault for the backend `auto`; null if none does. */
  readonly selectedBy: string | null
  /** Whether the keyring has the master key. */
  readonly hasMasterKey: boolean
  /** Why the vault cannot be used, or null. */
  readonly problem: string | null
}

/** Rights of a delegation. Each is a bit of `scope_bits`: 1, 2. */
export const DELEGATION_SCOPES = ['read', 'rotate'] as const
export type DelegationScope = (typeof DELEGATION_SCOPES)[number]

/** Right of an agent to use one secret for a time. */
export interface VaultDelegation {
  readonly id: string
  readonly secret: string
  readonly agent: string
  readonly scopes: readonly DelegationScope[]
  /** Author of the delegation: `cli`, `api` or `mcp`. */
  readonly parent: string
  readonly issuedAtMs: number
  readonly expiresAtMs: number
  readonly revokedAtMs: number | null
}

export interface DelegationRequest {
  readonly agent: string
  readonly scopes: readonly DelegationScope[]
  readonly ttlMs: number
  readonly by: string
}

/** All methods throw the codes `SEV_*` of the plugin, and no error contains a secret value. */
export interface SecretVault {
  /** Returns a secret; null if the vault has none. The row of the profile is tried before the canonical one. */
  get(key: string, profile: SecretProfile, by: string): Promise<VaultSecret | null>
  /** Stores a secret as a new version. Default operation: `create`, or `rotate` if it exists. Returns the version. */
  set(key: string, value: string, change: VaultChange): Promise<number>
  /** Stores the value that one profile uses instead; null removes it. */
  override(key: string, profile: SecretProfile, value: string | null, change: VaultChange): Promise<void>
  /** Returns the versions of a secret, newest first. */
  versions(key: string): Promise<readonly VaultVersion[]>
  /** Stores the value of an earlier version as a new one. Returns the new version. */
  rollback(key: string, version: number, change: VaultChange): Promise<number>
  /** Encrypts all data keys with the configured key-encryption key. Returns the number of changed rows. */
  rewrap(change: VaultChange): Promise<number>
  /** Returns the last rows of the audit log, newest first. `before`: only rows with a smaller id. */
  audit(limit: number, key?: string, before?: number): Promise<readonly VaultAuditRow[]>
  /** Lets an agent use a secret. Returns the delegation, and the token that the agent sends; only its hash is stored. */
  delegate(key: string, request: DelegationRequest): Promise<{ delegation: VaultDelegation; token: string }>
  /** Returns the last 1,000 delegations, newest first. */
  delegations(): Promise<readonly VaultDelegation[]>
  /** Ends a delegation. Returns false if it does not exist or has ended. */
  revoke(id: string, by: string): Promise<boolean>
  /** Returns the value of the delegated secret. Throws `SEV_DELEGATION_INVALID`. */
  getDelegated(token: string, profile: SecretProfile): Promise<{ key: string; value: string }>
  /** Stores a new value of the delegated secret. Returns the version. Throws `SEV_DELEGATION_INVALID`. */
  rotateDelegated(token: string, value: string): Promise<{ key: string; version: number }>
  /** Returns keys of stored secrets, sorted. */
  keys(): Promise<readonly string[]>
  status(): Promise<VaultStatus>
}
