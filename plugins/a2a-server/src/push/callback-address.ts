import type { LookupAddress } from 'node:dns'
import { lookup, Resolver } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import { isLoopback } from '@svc/contracts'
import { a2aServerErrors } from '../errors.ts'

/** Addresses that are not on the public internet (IANA's registries of special-purpose addresses). */
const SPECIAL = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3]
] as const)
  SPECIAL.addSubnet(network, prefix, 'ipv4')

/** Networks of IPv6 that are on the public internet: 2000::/3 without tunnels, documentation and benchmarks. */
const GLOBAL6 = new BlockList()
GLOBAL6.addSubnet('2000::', 3, 'ipv6')
const SPECIAL6 = new BlockList()
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20]
] as const)
  SPECIAL6.addSubnet(network, prefix, 'ipv6')

/** Returns whether an IP address is on the public internet. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !SPECIAL.check(address, 'ipv4')
  // Addresses that embed an IPv4 address (::ffff:0:0/96, 64:ff9b::/96) are outside of 2000::/3.
  return version === 6 && GLOBAL6.check(address, 'ipv6') && !SPECIAL6.check(address, 'ipv6')
}

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
