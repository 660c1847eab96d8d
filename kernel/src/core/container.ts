import type { Ref, ServiceId } from '@svc/plugin-sdk'
// Imported without awilix's module loader, which is unused and would cost every start 30 ms.
import { type AwilixContainer, asValue, createContainer } from 'awilix/browser'
import { kernelErrors } from './errors.ts'

/**
 * Services of one generation, keyed by token. Values are created before they are registered, and scopes of units do the
 * disposing: awilix disposes in cache order, which is not dependency order.
 */
export class ServiceContainer {
  readonly #container: AwilixContainer = createContainer({ strict: true })

  register(token: ServiceId, value: unknown): void {
    this.#container.register(token, asValue(value))
  }

  has(token: ServiceId): boolean {
    return this.#container.hasRegistration(token)
  }

  /** Undefined when nothing provides the token. */
  resolve(token: ServiceId): unknown {
    return this.#container.resolve(token, { allowUnregistered: true })
  }
}

/** A live reference: looks the service up each time. */
export function liveRef(token: ServiceId, lookup: (token: ServiceId) => unknown): Ref<unknown> {
  return {
    get available() {
      return lookup(token)
    },
    get current() {
      const value = lookup(token)
      if (value !== undefined) return value
      throw kernelErrors.create('KRN_SERVICE_GONE', `nothing provides ${token} now`, {
        hint: `svc plugins why ${token}`
      })
    }
  }
}
