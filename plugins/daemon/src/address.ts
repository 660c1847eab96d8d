import { isAbsolute } from 'node:path'
import { isLoopback, usesStdio } from '@svc/contracts'
import { daemonErrors } from './errors.ts'

/** Address of the daemon. */
export type Address =
  | { readonly kind: 'stdio' }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

export const SOCKET_VARIABLE = 'SVC_ORCHESTRATOR_DAEMON_SOCKET'
export const SOCKET_SETTING = `plugins.daemon.socket (${SOCKET_VARIABLE})`

/** Parses an address. Throws `DMN_SOCKET_INVALID`. With port 0, the system chooses the port. */
export function parseAddress(text: string): Address {
  const socket = text.trim()
  if (usesStdio(socket)) return { kind: 'stdio' }
  if (socket.startsWith('unix:') || isAbsolute(socket)) return parseUnix(socket.replace(/^unix:(\/\/)?/, ''), text)
  const match = /^(?:tcp:\/\/)?(?:\[([^\]]+)\]|([^:[\]/\s]+)):(\d{1,5})$/.exec(socket)
  const [host, port] = [match?.[1] ?? match?.[2], Number(match?.[3])]
  if (host === undefined || port > 65_535)
    throw invalid(text, 'expected HOST:PORT, tcp://HOST:PORT, an absolute path, or stdio')
  return { kind: 'tcp', host, port }
}

/** Maximum path length of a unix socket in bytes. Some systems silently truncate longer paths. */
const MAX_UNIX_PATH = 103

function parseUnix(path: string, text: string): Address {
  if (!isAbsolute(path)) throw invalid(text, 'the path of a unix socket must be absolute')
  if (Buffer.byteLength(path) > MAX_UNIX_PATH)
    throw invalid(text, `the path of a unix socket may have at most ${MAX_UNIX_PATH} bytes`)
  return { kind: 'unix', path }
}

function invalid(text: string, reason: string): Error {
  return daemonErrors.create('DMN_SOCKET_INVALID', `${SOCKET_SETTING} is "${text}": ${reason}`, {
    at: { path: 'plugins.daemon.socket' }
  })
}

/** Formats an address as in the setting, with IPv6 in brackets. */
export function formatAddress(address: Address): string {
  if (address.kind === 'stdio') return 'stdio'
  if (address.kind === 'unix') return address.path
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`
}

/** Throws `DMN_TOKEN_REQUIRED` if other machines could connect without a token. */
export function assertGuarded(address: Address, token: string): void {
  if (address.kind !== 'tcp' || isLoopback(address.host) || token !== '') return
  throw daemonErrors.create(
    'DMN_TOKEN_REQUIRED',
    `${SOCKET_SETTING} is ${formatAddress(address)}, which other machines can reach, but no token is set`,
    { hint: 'set plugins.daemon.token, for example to secret://env/NAME, or bind 127.0.0.1' }
  )
}
