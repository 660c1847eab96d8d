import type { IncomingMessage } from 'node:http'
import { AccessTokens, hostName, isLoopback, TokenBuckets } from '@svc/contracts'
import { routerErrors } from './errors.ts'

/** Limit per client address. */
const MAX_WRONG_KEYS_PER_MINUTE = 60

/** Access control of the listener: the bearer token, and the Host header against DNS rebinding by web pages. */
export class Guard {
  readonly #isLoopback: boolean
  readonly #keys: AccessTokens | null

  /** `host`: address of the listener. `key`: required token; undefined for none. */
  constructor(host: string, key: string | undefined) {
    this.#isLoopback = isLoopback(host)
    this.#keys = key === undefined ? null : new AccessTokens([key], new TokenBuckets(MAX_WRONG_KEYS_PER_MINUTE))
  }

  /** Throws `IRT_HOST`, `IRT_ORIGIN`, `IRT_UNAUTHORIZED` or `IRT_TOO_MANY_KEYS`. */
  check(request: IncomingMessage): void {
    this.checkHost(request)
    // The router has no pages and allows no others, so such a request could only come from a page whose name was pointed
    // at this router.
    if (request.headers.origin !== undefined && this.#keys === null)
      throw routerErrors.create('IRT_ORIGIN', 'web pages may not call this router', {
        hint: 'call it from a server, or set inference_router.api_key'
      })
    if (this.#keys === null) return
    const given = /^Bearer +(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
    if (given === undefined) throw unauthorized('no API key was sent')
    const { index, waitMs } = this.#keys.check(given, request.socket.remoteAddress ?? '')
    if (index !== null) return
    if (waitMs === 0) throw unauthorized('the API key is wrong')
    throw routerErrors.create('IRT_TOO_MANY_KEYS', 'too many wrong API keys came from this address', {
      data: { retryAfterMs: Math.ceil(waitMs) },
      hint: 'wait a minute, then send the right key'
    })
  }

  /** Throws `IRT_HOST`. */
  checkHost({ headers: { host = 'localhost' } }: IncomingMessage): void {
    const name = hostName(host)
    if (!this.#isLoopback || isLoopback(name)) return
    throw routerErrors.create('IRT_HOST', `this router accepts the host names localhost and 127.0.0.1, not '${name}'`, {
      hint: 'to serve other names, set inference_router.host to an address that is not loopback'
    })
  }
}

function unauthorized(problem: string): Error {
  return routerErrors.create('IRT_UNAUTHORIZED', problem, {
    hint: "send the key of this router as 'Authorization: Bearer KEY'"
  })
}
