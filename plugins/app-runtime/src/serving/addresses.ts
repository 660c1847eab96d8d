import type { HttpServer, KernelAdmin } from '@svc/contracts'
import type { Ref } from '@svc/plugin-sdk'

/** Name of the listener of the program's routes. */
export const APP_LISTENER = 'app'

/** Returns the URL of the program, without a slash at its end. `port`: port of its listener before it is open. */
export function appUrl(http: Ref<HttpServer> | undefined, port: number): string {
  const { url } = http?.available?.addresses.find(({ listener }) => listener === APP_LISTENER) ?? {}
  return url ?? `http://127.0.0.1:${port}`
}

/** Returns the URL of the console; null if it is not served. */
export function consoleUrl(admin: KernelAdmin | undefined, http: Ref<HttpServer> | undefined): string | null {
  const isActive = admin?.plugins().some(({ name, state }) => name === 'dashboard' && state === 'active') === true
  const main = http?.available?.addresses.find(({ listener }) => listener === 'main')
  return isActive && main !== undefined ? `${main.url}/` : null
}
