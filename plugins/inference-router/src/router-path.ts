import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { routerErrors } from './errors.ts'

const HEADER = 'x-svc-routers'
const MAX_ROUTERS = 8

/** Routers through which a request has passed, so that a router does not send requests to itself. */
export class RouterPath {
  readonly #id = randomBytes(6).toString('hex')

  /** Returns the header for a server: the routers so far, and this one. Throws `IRT_LOOP`. */
  next({ [HEADER]: given }: IncomingHttpHeaders): Readonly<Record<string, string>> {
    const passed = typeof given === 'string' && given !== '' ? given.split(',') : []
    if (passed.includes(this.#id) || passed.length >= MAX_ROUTERS) {
      throw routerErrors.create('IRT_LOOP', 'the request has already passed through this router', {
        hint: 'remove the address of the router from the servers of inference_router and of the routers behind it'
      })
    }
    return { [HEADER]: [...passed, this.#id].join(',') }
  }
}
