import type { KernelAdmin } from '@svc/contracts'

const HOST = 'plugins.model-server.host'
const PORT = 'plugins.model-server.port'
const USUAL_PORT = 11_435
/** Wildcard bind addresses, and the address of this machine to use instead. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/**
 * Returns the base URL of svc's own model server from its settings. Port 0 (any free port) becomes the default port.
 */
export function ownServer(admin: KernelAdmin | undefined): string {
  const value = (key: string): unknown => admin?.settings(key).find(setting => setting.key === key)?.value
  const [host, port] = [value(HOST), value(PORT)]
  const named = typeof host === 'string' ? (EVERYWHERE[host] ?? host) : '127.0.0.1'
  const at = typeof port === 'number' && port > 0 ? port : USUAL_PORT
  return `http://${named.includes(':') ? `[${named}]` : named}:${at}`
}
