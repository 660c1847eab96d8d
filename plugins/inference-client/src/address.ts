import { inferenceErrors } from '@svc/contracts'
import type { Settings } from './settings.ts'

/** A possible address of a model server, and its setting. */
export interface ServerCandidate {
  /** Without a trailing slash. */
  readonly url: string
  readonly setting: string
  /** Format that every model of the server supports, if the setting `api` is `auto`. */
  readonly api?: 'openai'
}

/** Default address of svc's own model server; Ollama's default port is tried next. */
const DEFAULT_OWN_URL = 'http://127.0.0.1:11435'
const OLLAMA: ServerCandidate = { url: 'http://127.0.0.1:11434', setting: 'default' }
/** Port of a host without one, as in Ollama's clients. */
const DEFAULT_PORT = '11434'

type Addresses = Pick<Settings, 'url' | 'alternate_url' | 'alternate_host'>

export interface KnownServers {
  /** Path of the setting with `url`, if it belongs to another plugin. */
  readonly named?: string | undefined
  /** Returns the address of svc's own model server. */
  readonly own?: (() => string) | undefined
  /** Returns the address of the router; null if the router is disabled. */
  readonly router?: (() => string | null) | undefined
}

/**
 * Returns the addresses to try, in order. A configured address, or that of an enabled router, is the only one: another
 * server may not be trusted. Throws `ICL_ADDRESS_INVALID`.
 */
export function candidates(
  addresses: Addresses,
  { named, own, router }: KnownServers = {}
): readonly ServerCandidate[] {
  const { url, alternate_url, alternate_host } = addresses
  if (url !== undefined) return [fromUrl('url', url, named)]
  if (alternate_url !== undefined) return [fromUrl('alternate_url', alternate_url)]
  if (alternate_host !== undefined) return [fromHost('alternate_host', alternate_host)]
  const routed = router?.() ?? null
  if (routed !== null) return [{ url: routed, setting: 'default', api: 'openai' }]
  return [{ url: own?.() ?? DEFAULT_OWN_URL, setting: 'default' }, OLLAMA]
}

function fromUrl(setting: string, text: string, named?: string): ServerCandidate {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw invalid(named ?? `plugins.inference-client.${setting}`, text)
  // The request paths already contain the version prefix `/v1`.
  const path = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')
  return { url: `${url.protocol}//${url.host}${path}`, setting }
}

/** Parses a URL, `HOST:PORT` or a host. A wildcard bind address, such as 0.0.0.0, becomes the loopback address. */
function fromHost(setting: string, text: string): ServerCandidate {
  if (text.includes('://')) return fromUrl(setting, text)
  const address = `http://${text}`
  if (!URL.canParse(address)) throw invalid(`plugins.inference-client.${setting}`, text)
  const url = new URL(address)
  if (url.port === '' && !/:80$/.test(text)) url.port = DEFAULT_PORT
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return fromUrl(setting, url.href)
}

function invalid(path: string, text: string): Error {
  return inferenceErrors.create('ICL_ADDRESS_INVALID', `${path}: "${withoutUserInfo(text)}" is not an HTTP address`, {
    at: { path },
    hint: 'write it as http://HOST:PORT'
  })
}

/** Removes user name and password from a URL, so that they do not reach a log. */
function withoutUserInfo(text: string): string {
  return text.replace(/\/\/[^/@]*@/, '//…@')
}
