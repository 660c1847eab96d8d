import { realpathSync, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type SecretsPolicy, vaultErrors } from '@svc/contracts'
import type { Settings } from './settings.ts'

/** Location of the vault. `token`: absent if the server needs none. */
export type VaultLocation = Origin &
  (
    | { readonly mode: 'local_file'; readonly file: string }
    | { readonly mode: 'remote'; readonly url: string; readonly token?: string }
  )

interface Origin {
  readonly urlSource: 'vault_path' | 'vault_url' | 'auto' | 'legacy_sql' | 'cloudless_db_path' | 'default'
  readonly tokenSource: 'vault_token' | 'legacy_sql' | 'none'
}

type Named = Pick<Settings, 'path' | 'url' | 'token' | 'default_path' | 'prefer' | 'hint'>

export interface Surroundings {
  readonly projectRoot: string
  readonly policy: SecretsPolicy
  readonly env: Readonly<Record<string, string | undefined>>
}

const DEFAULT_FILE = join('.vox', 'clavis_vault.db')
const LEGACY_URLS = ['SVC_SQL_URL', 'LEGACY_SQL_URL']
const LEGACY_TOKENS = ['SVC_SQL_TOKEN', 'LEGACY_SQL_AUTH_TOKEN']
/** Variables of the primary database that also locate the vault. */
export const LEGACY_VARIABLES: readonly string[] = [...LEGACY_URLS, ...LEGACY_TOKENS]
const SCHEMES = new Set(['libsql:', 'https:', 'http:', 'wss:', 'ws:'])

/**
 * Returns the location of the vault: path, URL, the default file if a flag selects the vault, a legacy URL if the policy
 * allows it, the default file. Throws `SEV_LOCATION_INVALID`.
 */
export function locationOf(settings: Named, { projectRoot, policy, env }: Surroundings): VaultLocation {
  const { token, tokenSource } = tokenOf(settings, policy, env)
  const file = (path: string, urlSource: Origin['urlSource']): VaultLocation => ({
    ...{ mode: 'local_file', file: resolve(projectRoot, path), urlSource, tokenSource }
  })
  const open = (url: string, urlSource: Origin['urlSource'], name: string): VaultLocation => {
    if (url.startsWith('file:')) return file(pathOf(url, name), urlSource)
    assertUrl(url, name)
    // Websocket servers also serve HTTP, which allows a time limit per request.
    const http = url.replace(/^ws(s?):/, 'http$1:')
    return { mode: 'remote', url: http, urlSource, tokenSource, ...(token === undefined ? {} : { token }) }
  }
  const byDefault = (): VaultLocation =>
    settings.default_path === undefined
      ? file(DEFAULT_FILE, isHinted(settings) ? 'auto' : 'default')
      : file(settings.default_path, 'cloudless_db_path')
  if (settings.path !== undefined) return file(settings.path, 'vault_path')
  if (settings.url !== undefined) return open(settings.url, 'vault_url', 'SVC_SECRETS_VAULT_URL')
  if (isHinted(settings)) return byDefault()
  const legacy = policy.legacySqlAliases ? LEGACY_URLS.find(name => isSet(env[name])) : undefined
  return legacy === undefined ? byDefault() : open(env[legacy] as string, 'legacy_sql', legacy)
}

/** Returns what selects the vault for the backend `auto`, except a master key in the keyring; null if nothing does. */
export function selectedBy(settings: Named, { policy, env }: Surroundings): string | null {
  if (settings.prefer) return 'SVC_SECRETS_AUTO_PREFER_VAULT'
  if (settings.hint !== undefined) return 'SVC_SECRETS_AUTO_VAULT'
  if (settings.url !== undefined) return 'SVC_SECRETS_VAULT_URL'
  if (settings.path !== undefined) return 'SVC_SECRETS_VAULT_PATH'
  if (settings.default_path !== undefined) return 'SVC_SECRETS_CLOUDLESS_DB_PATH'
  return (policy.legacySqlAliases ? LEGACY_URLS.find(name => isSet(env[name])) : undefined) ?? null
}

/** Throws `SEV_SHARED_FILE` if the vault is a file of the primary database, also by another path. */
export function assertSeparate(location: VaultLocation, databaseFiles: readonly string[]): void {
  if (location.mode !== 'local_file') return
  const same = databaseFiles.find(file => isSameFile(file, location.file))
  if (same === undefined) return
  throw vaultErrors.create('SEV_SHARED_FILE', `the vault ${location.file} is the primary database ${same}`, {
    hint: 'set SVC_SECRETS_VAULT_PATH to another file'
  })
}

/** Returns the host of a remote vault, or the name of a local file. */
export function hostHint(location: VaultLocation): string {
  return location.mode === 'remote' ? new URL(location.url).host : basename(location.file)
}

function tokenOf(
  { token }: Named,
  policy: SecretsPolicy,
  env: Surroundings['env']
): { readonly token?: string; readonly tokenSource: Origin['tokenSource'] } {
  if (token !== undefined) return { token, tokenSource: 'vault_token' }
  const legacy = policy.legacySqlAliases ? LEGACY_TOKENS.map(name => env[name]).find(isSet) : undefined
  return legacy === undefined ? { tokenSource: 'none' } : { token: legacy, tokenSource: 'legacy_sql' }
}

function isHinted({ prefer, hint }: Named): boolean {
  return prefer || hint !== undefined
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}

/** Returns the path of a URL `file:…`, as it is written. `name`: setting, for `SEV_LOCATION_INVALID`. */
export function pathOf(url: string, name: string): string {
  try {
    return url.startsWith('file://') ? fileURLToPath(url) : url.slice('file:'.length)
  } catch {
    throw invalid(name, 'is not the URL of a file of this machine')
  }
}

function assertUrl(url: string, name: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null || !SCHEMES.has(parsed.protocol)) throw invalid(name, 'is not the URL of a database')
  // Messages print the URL.
  if (parsed.username !== '' || parsed.password !== '') throw invalid(name, 'contains a user name or a password')
  if (parsed.search !== '') throw invalid(name, 'has a query; the token belongs in SVC_SECRETS_VAULT_TOKEN')
}

function invalid(name: string, why: string): Error {
  return vaultErrors.create('SEV_LOCATION_INVALID', `${name} ${why}`, {
    at: { path: name },
    hint: 'write it as file:PATH, libsql://HOST, https://HOST or http://HOST:PORT'
  })
}

function isSameFile(one: string, other: string): boolean {
  if (resolve(one) === resolve(other) || realPath(one) === realPath(other)) return true
  const [a, b] = [statSync(one, { throwIfNoEntry: false }), statSync(other, { throwIfNoEntry: false })]
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino && a.ino !== 0
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return resolve(path)
  }
}
