import FindMyWay from 'find-my-way'
import { httpErrors } from './errors.ts'
import type { Route } from './route.ts'

/** Match object of the router, used as it is: a copy would be one more object per request. */
export interface Match {
  readonly store: Route
  readonly params: Readonly<Record<string, string | undefined>>
  /** The raw query string, without its question mark. */
  readonly searchParams: string
}

/** Maximum length of path and query; longer ones are rejected before parsing. */
export const MAX_URL_LENGTH = 8192

/** Maximum length of a path in logs and records. */
const MAX_SHOWN_CHARS = 1_024

/** Finds the index of a URL's route in a table. */
interface Search {
  /** Methods and paths of the routes, in the table's order. */
  readonly keys: readonly string[]
  readonly router: FindMyWay.Instance<FindMyWay.HTTPVersion.V1>
}

/** Index of a route. An object, since the router treats 0 as missing. */
interface Position {
  readonly index: number
}

/** Immutable table of one listener's routes. */
export class RouteTable {
  readonly #routes: readonly Route[]
  readonly #search: Search
  readonly #methods: readonly FindMyWay.HTTPMethod[]
  /** Beginnings of paths that continue with a secret. */
  readonly #beforeSecrets: readonly RegExp[]
  /** Matches of routes without parameters, by method and path: they need no search and no new match object. */
  readonly #fixed = new Map<string, Map<string, Match>>()

  /**
   * `before`: the previous table. If the paths are equal, its search is reused: building one is the most expensive
   * part, and most reloads change no path.
   */
  constructor(routes: readonly Route[], before?: RouteTable) {
    this.#routes = routes
    const keys = routes.map(({ method, path }) => `${method} ${path}`)
    this.#search = before?.searchOf(keys) ?? buildSearch(routes, keys)
    for (const route of routes) if (!/[:*%]/.test(route.path)) this.#fix(route)
    this.#beforeSecrets = routes.flatMap(beforeSecret)
    this.#methods = [...new Set(routes.map(route => route.method as FindMyWay.HTTPMethod))]
  }

  /** Returns this table's search if it has the same keys. */
  searchOf(keys: readonly string[]): Search | null {
    const own = this.#search.keys
    return own.length === keys.length && own.every((key, index) => key === keys[index]) ? this.#search : null
  }

  /**
   * Finds the route of a request. HEAD matches GET routes. Throws `HTTP_PATH_INVALID` if the path cannot be decoded.
   */
  find(method: string, url: string): Match | null {
    const sought = method === 'HEAD' ? 'GET' : method
    const fixed = this.#fixed.get(sought)?.get(url)
    if (fixed !== undefined) return fixed
    const found = this.#search.router.find(sought as FindMyWay.HTTPMethod, url)
    if (found === null) return null
    if (found.store === null) throw pathInvalid()
    // The router created the match for this request, so it may be changed.
    found.store = this.#routes[(found.store as Position).index]
    return found as unknown as Match
  }

  /**
   * Returns a path for logs and records: without the query, and with `***` for what follows the beginning of a path that
   * contains a secret, whether or not the request reaches that route. A long path is cut: records of requests stay in
   * memory.
   */
  shownPath(url: string): string {
    const query = url.indexOf('?')
    const whole = query < 0 ? url : url.slice(0, query)
    const path = url.length > MAX_SHOWN_CHARS ? shortened(whole) : whole
    for (const pattern of this.#beforeSecrets) {
      const [beginning] = pattern.exec(path) ?? []
      if (beginning !== undefined) return `${beginning}***`
    }
    return path
  }

  /** Returns the methods of a path; empty for an unknown path. */
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

/** Returns at most {@link MAX_SHOWN_CHARS} characters, as a copy: a part of a string keeps the whole in memory. */
function shortened(path: string): string {
  const copy = Buffer.from(path.slice(0, MAX_SHOWN_CHARS)).toString()
  return path.length > MAX_SHOWN_CHARS ? `${copy}…` : copy
}

/** Builds a search. Throws the router's error for a route path that it rejects. */
function buildSearch(routes: readonly Route[], keys: readonly string[]): Search {
  const router = FindMyWay({
    maxParamLength: MAX_URL_LENGTH,
    // The query stays a string; the handler parses it.
    querystringParser: query => query as never,
    onBadUrl: badUrl
  })
  routes.forEach(({ method, path }, index) => {
    router.on(method as FindMyWay.HTTPMethod, path, noHandler, { index } satisfies Position)
  })
  return { keys, router }
}

/** Returns a pattern for the part of a route's path before its first secret parameter; none without one. */
function beforeSecret({ path, operation }: Route): RegExp[] {
  const secret = operation?.plan.secrets.find(name => path.includes(`:${name}`))
  if (secret === undefined) return []
  const parts = path.slice(0, path.indexOf(`:${secret}`)).split(/:[A-Za-z0-9_]+/)
  return [new RegExp(`^${parts.map(part => part.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('[^/]*')}`)]
}

const NO_PARAMS: Match['params'] = Object.freeze({})

function noHandler(): void {}

function badUrl(): void {}

function pathInvalid(): Error {
  return httpErrors.create('HTTP_PATH_INVALID', 'the path contains an invalid percent escape')
}
