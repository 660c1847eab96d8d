import { BlockList, isIP } from 'node:net'

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
