import { type KernelAdmin, readOwnServer } from '@svc/contracts'

const HOST = 'plugins.model-server.host'
const PORT = 'plugins.model-server.port'
const ROUTER = 'plugins.inference-router'
/** Table of the settings of the router. */
const ROUTER_TABLE = 'inference_router'
const DEFAULT_PORT = 11_435
/** Wildcard bind addresses, and the address of this machine to use instead. */
const LOOPBACK_OF_WILDCARD: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/**
 * Returns the base URL of svc's own model server from its settings. For port 0 (any free port), returns the address of the
 * project's running server, or the default port if none runs. `stateRoot`: folder of the project's state.
 */
export function ownServer(admin: KernelAdmin | undefined, stateRoot?: string): string {
  const value = (key: string): unknown => admin?.settings(key).find(setting => setting.key === key)?.value
  const [host, port] = [value(HOST), value(PORT)]
  const named = typeof host === 'string' ? (LOOPBACK_OF_WILDCARD[host] ?? host) : '127.0.0.1'
  const running = port === 0 && stateRoot !== undefined ? readOwnServer(stateRoot) : null
  if (running !== null) return reachable(running)
  const at = typeof port === 'number' && port > 0 ? port : DEFAULT_PORT
  return `http://${named.includes(':') ? `[${named}]` : named}:${at}`
}

/**
 * Returns the base URL of the router from its settings; null if it is disabled, or if its port is 0, so that only its
 * own process knows the address.
 */
export function configuredRouter(admin: KernelAdmin | undefined): string | null {
  const value = (key: string): unknown => admin?.settings(key).find(setting => setting.key === key)?.value
  if (value(`${ROUTER}.enabled`) !== true) return null
  const [host, port] = [value(`${ROUTER_TABLE}.host`), value(`${ROUTER_TABLE}.port`)]
  if (typeof host !== 'string' || typeof port !== 'number' || port === 0) return null
  return reachable(`http://${host.includes(':') ? `[${host}]` : host}:${port}`)
}

/** Replaces a wildcard bind address. */
export function reachable(url: string): string {
  const { hostname, port } = new URL(url)
  const host = LOOPBACK_OF_WILDCARD[hostname.replace(/^\[(.*)\]$/, '$1')]
  if (host === undefined) return url
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
