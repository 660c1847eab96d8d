import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpOrigins } from '@svc/contracts'
import { httpErrors } from './errors.ts'

/** Maximum length of an origin: a scheme, a name of 253 characters and a port. Longer ones match no pattern. */
const MAX_ORIGIN_CHARS = 300

/** Check of the Origin header, which browsers send with requests of pages, and CORS headers for allowed origins. */
export class OriginCheck {
  readonly #all: boolean
  readonly #exact: ReadonlySet<string>
  readonly #patterns: readonly RegExp[]
  readonly #isEmpty: boolean
  readonly #setting: string

  constructor({ allowed, setting }: HttpOrigins) {
    const lowered = allowed.map(each => each.toLowerCase())
    this.#all = lowered.includes('*')
    this.#exact = new Set(lowered)
    this.#patterns = lowered.filter(each => each !== '*' && each.includes('*')).map(patternOf)
    this.#isEmpty = allowed.length === 0
    this.#setting = setting
  }

  /**
   * Accepts requests without an origin, of the server's own origin and of allowed origins, and sets CORS headers for the
   * last. Throws `HTTP_ORIGIN_FORBIDDEN`.
   */
  admit({ headers: { origin, host } }: IncomingMessage, response: ServerResponse | null): void {
    if (!this.#isEmpty) response?.setHeader('vary', 'Origin')
    if (origin === undefined) return
    if (this.#allows(origin.toLowerCase())) {
      response?.setHeader('access-control-allow-origin', this.#all ? '*' : origin)
      response?.setHeader('access-control-expose-headers', 'x-request-id, traceparent, retry-after')
      return
    }
    if (origin === `http://${host}` || origin === `https://${host}`) return
    const shown = origin.slice(0, MAX_ORIGIN_CHARS)
    throw httpErrors.create('HTTP_ORIGIN_FORBIDDEN', `pages of the origin "${shown}" may not call this server`, {
      hint: `add the origin to ${this.#setting}`
    })
  }

  #allows(origin: string): boolean {
    if (this.#all || this.#exact.has(origin)) return true
    return origin.length <= MAX_ORIGIN_CHARS && this.#patterns.some(pattern => pattern.test(origin))
  }
}

/** `*` after the last colon is a port; elsewhere it is any text without a slash. */
function patternOf(allowed: string): RegExp {
  const parts = allowed.replace(/:\*$/, ':\0').split('*')
  const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return new RegExp(`^${parts.map(literal).join('[^/]*').replace('\0', '\\d+')}$`)
}
