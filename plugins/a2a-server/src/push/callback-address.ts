import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isLoopback, isPublicAddress } from '@svc/contracts'
import { a2aServerErrors } from '../errors.ts'

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

export interface CallbackRules {
  /** Hosts, as HOST or HOST:PORT, that may have a private or local address. */
  readonly privateHosts: readonly string[]
  /** Default: DNS; for private hosts, the operating system, which also knows names outside of DNS. */
  readonly resolve?: Resolve
}

const DNS_TIMEOUT_MS = 2_000

/**
 * Asks the name servers with a time limit. The look-up of the operating system would occupy a thread that file access
 * needs, for as long as a client's name server takes.
 */
async function resolvePublic(host: string): Promise<readonly LookupAddress[]> {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 2 })
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
  const of = (found: typeof v4, family: number): LookupAddress[] =>
    found.status === 'rejected' ? [] : found.value.map(address => ({ address, family }))
  return [...of(v4, 4), ...of(v6, 6)]
}

const resolvePrivate: Resolve = host => lookup(host, { all: true, verbatim: true })

/**
 * Returns the addresses to which a webhook may be sent. The connection must be made to one of them: a second look-up may
 * have another result. Throws `A2S_CALLBACK_DENIED` if the URL is not https, contains credentials, or if its host has any
 * address that is not public; `A2S_CALLBACK_FAILED` if the host cannot be resolved.
 */
export async function callbackAddresses(
  text: string,
  { privateHosts, resolve }: CallbackRules
): Promise<{ readonly url: URL; readonly addresses: readonly LookupAddress[] }> {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) throw denied('the URL for push notifications is not a URL')
  if (url.protocol !== 'https:') throw denied(`push notifications are sent over https only, not ${url.protocol}`)
  if (url.username !== '' || url.password !== '')
    throw denied('the URL for push notifications contains credentials; send them as authentication')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const isAllowed = privateHosts.some(each => each === url.host || each === url.hostname)
  if (!isAllowed && isLoopback(host)) throw notPublic(url)
  const addresses =
    isIP(host) === 0
      ? await resolved(host, resolve ?? (isAllowed ? resolvePrivate : resolvePublic))
      : [{ address: host, family: isIP(host) }]
  if (!isAllowed && addresses.some(({ address }) => !isPublicAddress(address))) throw notPublic(url)
  return { url, addresses }
}

function notPublic({ host }: URL): Error {
  return denied(
    `the host ${host} has an address that is not public`,
    'to allow it, add the host to push_private_hosts in [plugins.a2a-server]'
  )
}

async function resolved(host: string, resolve: Resolve): Promise<readonly LookupAddress[]> {
  let addresses: readonly LookupAddress[] = []
  try {
    addresses = await resolve(host)
  } catch (cause) {
    throw a2aServerErrors.create('A2S_CALLBACK_FAILED', `the host ${host} of a webhook cannot be resolved`, { cause })
  }
  if (addresses.length > 0) return addresses
  throw a2aServerErrors.create('A2S_CALLBACK_FAILED', `the host ${host} of a webhook has no address`)
}

function denied(message: string, hint?: string): Error {
  return a2aServerErrors.create('A2S_CALLBACK_DENIED', message, hint === undefined ? {} : { hint })
}
