import type { Ref, ServiceId } from '@svc/plugin-sdk'
// This entry point excludes awilix's module loader, which is unused and would add 30 ms to every start.
import { type AwilixContainer, asValue, createContainer } from 'awilix/browser'
import { kernelErrors } from './errors.ts'

/**
 * Services of one generation, by token. Only finished values are registered. The scopes of units dispose them, since
 * awilix disposes in cache order, not in dependency order.
 */
export class ServiceContainer {
  readonly #container: AwilixContainer = createContainer({ strict: true })

  register(token: ServiceId, value: unknown): void {
    this.#container.register(token, asValue(value))
  }

  has(token: ServiceId): boolean {
    return this.#container.hasRegistration(token)
  }

  /** Returns the service, or undefined if nothing provides the token. */
  resolve(token: ServiceId): unknown {
    return this.#container.resolve(token, { allowUnregistered: true })
  }
}

/** Creates a reference that looks up the service on each use. */
export function liveRef(token: ServiceId, lookup: (token: ServiceId) => unknown): Ref<unknown> {
  return {
    get available() {
      return lookup(token)
    },
    get current() {
      const value = lookup(token)
      if (value !== undefined) return value
      throw kernelErrors.create('KRN_SERVICE_GONE', `no active plugin provides ${token}`, {
        hint: `svc plugins why ${token}`
      })
    }
  }
}
