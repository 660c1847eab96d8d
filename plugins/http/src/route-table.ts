import FindMyWay from 'find-my-way'
import { httpErrors } from './errors.ts'
import type { Route } from './route.ts'

/** What the router finds, as it finds it: a copy of its own would be one more object for every request. */
export interface Match {
  readonly store: Route
  readonly params: Readonly<Record<string, string | undefined>>
  /** The query as text, without its question mark. */
  readonly searchParams: string
}

/** Paths may be this long, query included; longer ones are refused before anything reads them. */
export const MAX_URL_LENGTH = 8192

/** An immutable table of one listener's routes. */
export class RouteTable {
  readonly #router: FindMyWay.Instance<FindMyWay.HTTPVersion.V1>
  readonly #methods: readonly FindMyWay.HTTPMethod[]
  /** By method and path, the routes without parameters: a URL that is such a path needs no search and no new match. */
  readonly #fixed = new Map<string, Map<string, Match>>()

  constructor(routes: readonly Route[]) {
    this.#router = FindMyWay({
      maxParamLength: MAX_URL_LENGTH,
      // Whoever serves the request parses its query.
      querystringParser: query => query as never,
      onBadUrl: badUrl
    })
    for (const route of routes) {
      this.#router.on(route.method as FindMyWay.HTTPMethod, route.path, noHandler, route)
      if (!/[:*%]/.test(route.path)) this.#fix(route)
    }
    this.#methods = [...new Set(routes.map(route => route.method as FindMyWay.HTTPMethod))]
  }

  /** HEAD finds what GET finds. Throws `HTTP_PATH_INVALID` for a path that cannot be decoded. */
  find(method: string, url: string): Match | null {
    const sought = method === 'HEAD' ? 'GET' : method
    const fixed = this.#fixed.get(sought)?.get(url)
    if (fixed !== undefined) return fixed
    const found = this.#router.find(sought as FindMyWay.HTTPMethod, url)
    if (found === null) return null
    if (found.store === null) throw pathInvalid()
    return found as unknown as Match
  }

  /** Methods that the path answers to; empty for a path that is not served. */
  allowed(url: string): string[] {
    const methods: string[] = this.#methods.filter(method => this.find(method, url) !== null)
    if (methods.length === 0) return []
    if (methods.includes('GET')) methods.push('HEAD')
    return [...methods, 'OPTIONS']
  }

  #fix(route: Route): void {
    const paths = this.#fixed.get(route.method) ?? new Map<string, Match>()
    this.#fixed.set(route.method, paths)
    paths.set(route.path, Object.freeze({ store: route, params: NO_PARAMS, searchParams: '' }))
  }
}

const NO_PARAMS: Match['params'] = Object.freeze({})

function noHandler(): void {}

function badUrl(): void {}

function pathInvalid(): Error {
  return httpErrors.create('HTTP_PATH_INVALID', 'the path holds a percent sign that starts no UTF-8 character')
}
