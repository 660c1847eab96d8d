import { ClientAddresses } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import type { AuthSettings } from '../settings.ts'

/** Returns the addresses of clients behind the proxies of the setting. Throws `RUN_AUTH_UNAVAILABLE`. */
export function clientAddresses({ trusted_proxies }: Pick<AuthSettings, 'trusted_proxies'>): ClientAddresses {
  return new ClientAddresses(trusted_proxies, proxy =>
    runErrors.create('RUN_AUTH_UNAVAILABLE', `trusted_proxies: "${proxy}" is neither an address nor a network`, {
      at: { path: 'plugins.app-runtime.auth.trusted_proxies' },
      hint: 'write for example 127.0.0.1 or 10.0.0.0/8'
    })
  )
}
