import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pluginErrors } from './errors.ts'
import type { Settings } from './settings.ts'

/** Location of the primary database. Paths are absolute. */
export type DatabaseLocation =
  | { readonly mode: 'file'; readonly file: string; readonly fallback: string | null }
  | { readonly mode: 'remote'; readonly url: string; readonly token: string }
  | { readonly mode: 'replica'; readonly file: string; readonly url: string; readonly token: string }

export interface Folders {
  readonly project: string
  /** Folder of the project's state. */
  readonly state: string
  /** Folder that projects of one user share. */
  readonly data: string
}

type Named = Pick<
  Settings,
  | 'url'
  | 'token'
  | 'sql_url'
  | 'sql_token'
  | 'legacy_sql_url'
  | 'legacy_sql_auth_token'
  | 'path'
  | 'journey_store'
  | 'journey_fallback_canonical'
>

/** Deprecated names, which the cutover of secrets may refuse. */
const SQL_ALIASES = ['sql_url', 'sql_token', 'legacy_sql_url', 'legacy_sql_auth_token'] as const

const SCHEMES = new Set(['libsql:', 'https:', 'http:', 'wss:', 'ws:'])

/**
 * Returns the configured location. URL and token select a remote database; with a path, a replica of it in that file. A
 * path without them selects a local file. The deprecated names apply if the current ones are not a pair. Throws
 * `DBP_REMOTE_INCOMPLETE` and `DBP_URL_INVALID`.
 */
export function locationOf(settings: Named, { project, state, data }: Folders): DatabaseLocation {
  const { url, path } = settings
  if (url?.startsWith('file:') === true) return { mode: 'file', file: localFile(url, project), fallback: null }
  const file = path === undefined ? null : resolve(project, path)
  const remote = remotePair(settings)
  if (remote !== null) {
    assertUrl(remote)
    const { token } = remote
    // Websocket servers also serve HTTP, which allows a time limit per request.
    const url = remote.url.replace(/^ws(s?):/, 'http$1:')
    return file === null ? { mode: 'remote', url, token } : { mode: 'replica', file, url, token }
  }
  if (file !== null) return { mode: 'file', file, fallback: null }
  const canonical = join(data, 'vox.db')
  if (settings.journey_store === 'canonical') return { mode: 'file', file: canonical, fallback: null }
  const fallback = settings.journey_fallback_canonical ? canonical : null
  return { mode: 'file', file: join(state, 'store.db'), fallback }
}

/** Returns the deprecated names that are set. */
export function sqlAliasesOf(settings: Named): readonly string[] {
  return SQL_ALIASES.filter(name => settings[name] !== undefined)
}

/** Returns the settings without the deprecated names. */
export function withoutSqlAliases(settings: Named): Named {
  const { sql_url, sql_token, legacy_sql_url, legacy_sql_auth_token, ...kept } = settings
  return kept
}

interface Remote {
  readonly url: string
  readonly token: string
  readonly setting: string
}

function remotePair(settings: Named): Remote | null {
  const pairs = [
    { setting: 'url', url: settings.url, token: settings.token },
    { setting: 'sql_url', url: settings.sql_url, token: settings.sql_token },
    { setting: 'legacy_sql_url', url: settings.legacy_sql_url, token: settings.legacy_sql_auth_token }
  ]
  for (const { setting, url, token } of pairs)
    if (url !== undefined && token !== undefined) return { setting, url, token }
  const half = pairs.find(({ url, token }) => url !== undefined || token !== undefined)
  if (half === undefined) return null
  const [has, lacks] = half.url === undefined ? ['a token', 'no URL'] : ['a URL', 'no token']
  const path = `plugins.database.${half.setting}`
  throw pluginErrors.create('DBP_REMOTE_INCOMPLETE', `${path} and its token: ${has} is set, but ${lacks} is not`, {
    at: { path },
    hint: 'set both SVC_DB_URL and SVC_DB_TOKEN, or neither and SVC_DB_PATH for a local file'
  })
}

function assertUrl({ url, setting }: Remote): void {
  const parsed = URL.canParse(url) ? new URL(url) : null
  const path = `plugins.database.${setting}`
  const refuse = (why: string): Error =>
    pluginErrors.create('DBP_URL_INVALID', `${path} ${why}`, {
      at: { path },
      hint: 'write it as libsql://HOST, https://HOST or http://HOST:PORT'
    })
  if (parsed === null || !SCHEMES.has(parsed.protocol)) throw refuse('is not the URL of a database')
  // Messages print the URL.
  if (parsed.username !== '' || parsed.password !== '') throw refuse('contains a user name or a password')
}

function localFile(url: string, project: string): string {
  return url.startsWith('file://') ? fileURLToPath(url) : resolve(project, url.slice('file:'.length))
}
