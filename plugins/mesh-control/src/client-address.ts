import { ClientAddresses } from '@svc/contracts'
import { controlErrors } from './errors.ts'

/** Returns the addresses of clients behind the proxies of the setting. Throws `MSC_SETTINGS_INVALID`. */
export function clientAddresses(proxies: readonly string[]): ClientAddresses {
  return new ClientAddresses(proxies, proxy =>
    controlErrors.create(
      'MSC_SETTINGS_INVALID',
      `"${proxy}" in trusted_proxies of [plugins.mesh-control] is neither an address nor a network`,
      { at: { path: 'plugins.mesh-control.trusted_proxies' }, hint: 'write for example 10.0.0.7 or 10.0.0.0/8' }
    )
  )
}
