import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { clientKeyOf } from './client-key.ts'

/** Maximum number of addresses in X-Forwarded-For that are read. */
const MAX_HOPS = 32

/** Finds the address of a client behind trusted proxies. */
export class ClientAddresses {
  readonly #trusted = new BlockList()
  readonly #hasTrusted: boolean

  /** `proxies`: addresses and networks. Throws the error of the first that is neither. */
  constructor(proxies: readonly string[], errorOf: (proxy: string) => Error) {
    for (const proxy of proxies) if (!addProxy(this.#trusted, proxy)) throw errorOf(proxy)
    this.#hasTrusted = proxies.length > 0
  }

  /** Returns the rate-limit key of a request. */
  keyOf(request: IncomingMessage): string {
    return clientKeyOf(this.addressOf(request))
  }

  /**
   * Returns the address of the client: the last one in X-Forwarded-For that is no trusted proxy. The header counts only
   * if the connection comes from a trusted proxy: others could write any address into it.
   */
  addressOf({ headers, socket }: IncomingMessage): string {
    const direct = plainAddress(socket.remoteAddress ?? '')
    if (!this.#hasTrusted || !this.#isTrusted(direct)) return direct
    const hops = String(headers['x-forwarded-for'] ?? '')
      .split(',')
      .slice(-MAX_HOPS)
    let client = direct
    for (const hop of hops.reverse()) {
      const address = hopAddress(hop.trim())
      if (address === null) break
      client = address
      if (!this.#isTrusted(address)) break
    }
    return client
  }

  #isTrusted(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#trusted.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}

/** Adds a proxy to a list. Returns false if it is neither an address nor a network. */
function addProxy(list: BlockList, proxy: string): boolean {
  const [address = '', prefix, ...rest] = proxy.split('/')
  const version = isIP(address)
  const family = version === 4 ? 'ipv4' : 'ipv6'
  const bits = prefix === undefined ? null : Number(prefix)
  const isValid =
    version !== 0 &&
    rest.length === 0 &&
    (bits === null || (/^\d{1,3}$/.test(prefix ?? '') && bits <= (version === 4 ? 32 : 128)))
  if (!isValid) return false
  if (bits === null) list.addAddress(address, family)
  else list.addSubnet(address, bits, family)
  return true
}

/** Returns an IPv4 address that is mapped to IPv6 as IPv4. */
function plainAddress(address: string): string {
  return /^::ffff:([\d.]+)$/i.exec(address)?.[1] ?? address
}

/** Returns the address of a hop, without its port; null if it is malformed. */
function hopAddress(hop: string): string | null {
  if (isIP(hop) !== 0) return plainAddress(hop)
  const address = /^\[([^\]]+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? ''
  return isIP(address) === 0 ? null : plainAddress(address)
}
