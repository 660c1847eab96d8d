import FindMyWay from 'find-my-way'
import { httpErrors } from './errors.ts'
import type { Route } from './route.ts'

/** Match of the router, as it returns it: a copy would be one more object for every request. */
export interface Match {
  readonly store: Route
  readonly params: Readonly<Record<string, string | undefined>>
  /** The query as text, without its question mark. */
  readonly searchParams: string
}

/** Paths may be this long, query included; longer ones are refused before anything reads them. */
export const MAX_URL_LENGTH = 8192

/** Finds where in a table the route of a URL stands. */
interface Search {
  /** Methods and paths that it was built from, in the table's order. */
  readonly keys: readonly string[]
  readonly router: FindMyWay.Instance<FindMyWay.HTTPVersion.V1>
}

/** An object, since the router takes 0 for nothing. */
interface Position {
  readonly index: number
}

/** An immutable table of one listener's routes. */
export class RouteTable {
  readonly #routes: readonly Route[]
  readonly #search: Search
  readonly #methods: readonly FindMyWay.HTTPMethod[]
  /** By method and path, the routes without parameters: a URL that is such a path needs no search and no new match. */
  readonly #fixed = new Map<string, Map<string, Match>>()

  /**
   * `before`: another table. Where it is one of the same paths, this one searches as it does: to build a search costs more than
   * all else of a table, and most reloads change no path.
   */
  constructor(routes: readonly Route[], before?: RouteTable) {
    this.#routes = routes
    const keys = routes.map(({ method, path }) => `${method} ${path}`)
    this.#search = before?.searchOf(keys) ?? buildSearch(routes, keys)
    for (const route of routes) if (!/[:*%]/.test(route.path)) this.#fix(route)
    this.#methods = [...new Set(routes.map(route => route.method as FindMyWay.HTTPMethod))]
  }

  /** Returns the search of this table if it was built for these keys. */
  searchOf(keys: readonly string[]): Search | null {
    const own = this.#search.keys
    return own.length === keys.length && own.every((key, index) => key === keys[index]) ? this.#search : null
  }

  /** HEAD finds what GET finds. Throws `HTTP_PATH_INVALID` for a path that cannot be decoded. */
  find(method: string, url: string): Match | null {
    const sought = method === 'HEAD' ? 'GET' : method
    const fixed = this.#fixed.get(sought)?.get(url)
    if (fixed !== undefined) return fixed
    const found = this.#search.router.find(sought as FindMyWay.HTTPMethod, url)
    if (found === null) return null
    if (found.store === null) throw pathInvalid()
    // Made for this request only, so that it may hold the route.
    found.store = this.#routes[(found.store as Position).index]
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

/** Throws what the router throws at a path that it cannot search for. */
function buildSearch(routes: readonly Route[], keys: readonly string[]): Search {
  const router = FindMyWay({
    maxParamLength: MAX_URL_LENGTH,
    // The handler parses the query.
    querystringParser: query => query as never,
    onBadUrl: badUrl
  })
  routes.forEach(({ method, path }, index) => {
    router.on(method as FindMyWay.HTTPMethod, path, noHandler, { index } satisfies Position)
  })
  return { keys, router }
}

const NO_PARAMS: Match['params'] = Object.freeze({})

function noHandler(): void {}

function badUrl(): void {}

function pathInvalid(): Error {
  return httpErrors.create('HTTP_PATH_INVALID', 'the path holds a percent sign that starts no UTF-8 character')
}
