/**
 * Returns the rate-limit key of a client's address: an IPv4 address, or the /64 prefix of an IPv6 address, since one
 * client often owns a whole /64.
 */
export function clientKeyOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [bare = ''] = address.split('%', 1)
  const [head = '', tail] = bare.split('::', 2)
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  while (tail !== undefined && groups.length + after.length < 8) groups.push('0')
  const network = [...groups, ...after].slice(0, 4)
  return `${network.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
