import type { KernelAdmin } from '@svc/contracts'

const HOST = 'plugins.model-server.host'
const PORT = 'plugins.model-server.port'
const USUAL_PORT = 11_435
/** Wildcard addresses of a server. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

/** Base URL of this project's model server, from its settings; the default port if it uses a free one. */
export function ownServer(admin: KernelAdmin | undefined): string {
  const value = (key: string): unknown => admin?.settings(key).find(setting => setting.key === key)?.value
  const [host, port] = [value(HOST), value(PORT)]
  const named = typeof host === 'string' ? (EVERYWHERE[host] ?? host) : '127.0.0.1'
  const at = typeof port === 'number' && port > 0 ? port : USUAL_PORT
  return `http://${named.includes(':') ? `[${named}]` : named}:${at}`
}
