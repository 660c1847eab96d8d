import { clientErrors } from './errors.ts'
import type { Settings } from './settings.ts'

/** A possible address of a model server, and its setting. */
export interface Candidate {
  /** Without a trailing slash. */
  readonly url: string
  readonly setting: string
}

/**
 * Candidate addresses without a configured one: this project's server on its usual port, then Ollama's default port.
 */
const OWN_URL = 'http://127.0.0.1:11435'
const USUAL: Candidate = { url: 'http://127.0.0.1:11434', setting: 'default' }
/** Default port of a host, as in the clients of that format. */
const DEFAULT_PORT = '11434'

type Addresses = Pick<Settings, 'url' | 'alternate_url' | 'alternate_host'>

/**
 * Addresses to try, in order. A configured server is the only one: another server could belong to someone else.
 * `named`: the setting with `url`, if it belongs to another plugin. `own`: address of the project's server. Throws
 * `ICL_ADDRESS_INVALID`.
 */
export function candidates(
  addresses: Addresses,
  { named, own }: { readonly named?: string | undefined; readonly own?: (() => string) | undefined } = {}
): readonly Candidate[] {
  const { url, alternate_url, alternate_host } = addresses
  if (url !== undefined) return [fromUrl('url', url, named)]
  if (alternate_url !== undefined) return [fromUrl('alternate_url', alternate_url)]
  if (alternate_host !== undefined) return [fromHost('alternate_host', alternate_host)]
  return [{ url: own?.() ?? OWN_URL, setting: 'default' }, USUAL]
}

function fromUrl(setting: string, text: string, named?: string): Candidate {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw invalid(named ?? `plugins.inference-client.${setting}`, text)
  // The format's own version prefix belongs to the paths.
  const path = url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')
  return { url: `${url.protocol}//${url.host}${path}`, setting }
}

/** A URL, `HOST:PORT`, or only a host; a wildcard bind address means this machine to a client. */
function fromHost(setting: string, text: string): Candidate {
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
  return clientErrors.create(
    'ICL_ADDRESS_INVALID',
    `${path} is "${withoutUserInfo(text)}", which is not an HTTP address`,
    {
      at: { path },
      hint: 'write it as http://HOST:PORT'
    }
  )
}

/** A password in an address must not reach a log. */
function withoutUserInfo(text: string): string {
  return text.replace(/\/\/[^/@]*@/, '//…@')
}
