import { type SecretProfile, type SecretVault, secretErrors } from '@svc/contracts'
import { KEYRING_SENTINEL, PACKAGE_REGISTRY } from './auth-file.ts'
import type { ListedSecret } from './declared-list.ts'
import { commandErrors } from './errors.ts'
import { COLLECTION, type Secrets } from './secrets.ts'

/** Places in which commands store secrets. */
export const STORES = ['auto', 'vault', 'keyring', 'auth'] as const
export type Store = (typeof STORES)[number]

export interface Stored {
  readonly name: string
  readonly store: Exclude<Store, 'auto'>
  /** Version in the vault; absent for another store. */
  readonly version?: number
}

export interface StoreRequest {
  readonly name: string
  readonly value: string
  readonly store: Store
  readonly username?: string
  /** Profile that uses the value instead of the canonical one. Only the vault has such values. */
  readonly override?: SecretProfile
  /** Author of the change. */
  readonly by: string
}

const REGISTRY = /^[a-z0-9][a-z0-9._-]{0,127}$/

/**
 * Stores a secret. `name`: id, variable or registry of a declared secret, or the name of another registry. `auto`: the
 * vault if it is the selected backend, else the keyring.
 */
export async function storeSecret(
  secrets: Secrets,
  { name, value, store, username, override, by }: StoreRequest
): Promise<Stored> {
  const secret = secrets.catalog().find(name)
  if (secret === undefined && !REGISTRY.test(name)) secrets.catalog().get(name)
  if (secret?.persistable === false) throw notStorable(secret, 'is not meant to be stored')
  const byDefault = (): Store | Promise<Store> => (override === undefined ? defaultStore(secrets, secret, by) : 'vault')
  const target = store === 'auto' ? await byDefault() : store
  if (override !== undefined && target !== 'vault')
    throw commandErrors.create('SCR_NOT_STORABLE', `${name}: only the vault has values of a profile`, {
      hint: 'leave --store out, or write --store vault'
    })
  if (target === 'vault') {
    if (secret === undefined) return undeclaredInVault(name)
    const vault = await vaultFor(secrets, secret)
    const key = secret.backendKey ?? secret.env
    if (override !== undefined) {
      await vault.override(key, override, value, { by })
      return { name: secret.id, store: target }
    }
    const version = await vault.set(key, value, { by })
    return { name: secret.id, store: target, version }
  }
  const { keyring, authFile } = secrets.options
  const registry = secret === undefined ? name : secret.registry
  const account = registry ?? (secret as ListedSecret).env
  if (target === 'auth' || keyring === undefined) {
    await authFile.set(account, { token: value, ...(username === undefined ? {} : { username }) })
    return { name: secret?.id ?? account, store: 'auth' }
  }
  await keyring.set(COLLECTION, account, value)
  if (registry !== undefined)
    await authFile.set(registry, { token: KEYRING_SENTINEL, ...(username === undefined ? {} : { username }) })
  return { name: secret?.id ?? account, store: 'keyring' }
}

/** Returns the vault. Throws `SCR_NO_VAULT`, and `SCR_NOT_STORABLE` if the vault must not have the secret. */
export async function vaultFor(secrets: Secrets, secret: ListedSecret): Promise<SecretVault> {
  const { vault } = secrets.options.backends
  if (vault === undefined) throw noVault()
  if (secret.persistable === false) throw notStorable(secret, 'is not meant to be stored')
  if (secret.deviceLocalOnly === true && (await vault.status()).mode === 'remote')
    throw notStorable(secret, 'must not leave this machine, and the vault is remote')
  return vault
}

async function defaultStore(
  secrets: Secrets,
  secret: ListedSecret | undefined,
  by: string
): Promise<Exclude<Store, 'auto'>> {
  if (secret === undefined) return 'keyring'
  // The phase refuses the keyring, so that a secret there would never be used.
  if (!secrets.policy.legacySources) return 'vault'
  return (await secrets.choose(secrets.policy, by)).mode === 'vox_cloud' ? 'vault' : 'keyring'
}

/** Moves plain tokens of the auth file to the keyring. Returns the registries. Throws `SCR_NOT_STORABLE`. */
export async function migrateAuthStore(secrets: Secrets): Promise<string[]> {
  const { keyring, authFile } = secrets.options
  if (keyring === undefined)
    throw commandErrors.create('SCR_NOT_STORABLE', 'no keyring is available', {
      hint: 'svc plugins enable secrets-keyring'
    })
  const moved: string[] = []
  for (const [registry, { token }] of authFile.entries()) {
    if (token === KEYRING_SENTINEL) continue
    // The file is changed only after the keyring has the token.
    await keyring.set(COLLECTION, registry, token)
    await authFile.set(registry, { token: KEYRING_SENTINEL })
    moved.push(registry)
  }
  const legacy = authFile.legacyToken()
  if (legacy !== null) {
    // A token of the registry in auth.json is newer than the plain file.
    if (!authFile.entries().has(PACKAGE_REGISTRY)) {
      await keyring.set(COLLECTION, PACKAGE_REGISTRY, legacy)
      await authFile.set(PACKAGE_REGISTRY, { token: KEYRING_SENTINEL })
      moved.push(PACKAGE_REGISTRY)
    }
    authFile.removeLegacyToken()
  }
  return moved
}

function undeclaredInVault(name: string): never {
  throw secretErrors.create('SEC_UNDECLARED', `no plugin declares a secret ${name}, which the vault needs`, {
    hint: 'svc secrets status lists the declared secrets; --store keyring stores tokens of other registries'
  })
}

export function noVault(): Error {
  return commandErrors.create('SCR_NO_VAULT', 'no active plugin provides secrets.vault@1', {
    hint: 'svc plugins why secrets-local'
  })
}

function notStorable({ id, env }: ListedSecret, why: string): Error {
  return commandErrors.create('SCR_NOT_STORABLE', `the secret ${id} ${why}`, {
    hint: `set the environment variable ${env}, or use another --store`
  })
}
