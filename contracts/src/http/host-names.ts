import { BlockList, isIP } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4')
LOOPBACK.addAddress('::1', 'ipv6')

/**
 * Returns whether a host name or IP address means only this machine: `localhost`, 127.0.0.0/8 and `::1`, also in brackets
 * or mapped to IPv6. Other names and malformed addresses do not, since DNS may resolve them to any machine.
 */
export function isLoopback(host: string): boolean {
  const name = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host
  if (name.toLowerCase() === 'localhost') return true
  const version = isIP(name)
  return version !== 0 && LOOPBACK.check(name, version === 4 ? 'ipv4' : 'ipv6')
}

/** Returns the host of a Host header without its port, in lower case; IPv6 addresses keep their brackets. */
export function hostName(header: string): string {
  return header.replace(/:\d*$/, '').toLowerCase()
}
