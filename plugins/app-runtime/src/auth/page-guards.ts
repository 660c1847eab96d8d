import { posix } from 'node:path'
import type { GuardDeclaration, HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import type { EndpointGuard } from './guard.ts'
import { type Refusal, refuse } from './refuse.ts'

/** A page with its guard. */
export interface GuardedPage extends Pick<GuardDeclaration, 'name' | 'paths' | 'auth'> {
  readonly guard: Pick<EndpointGuard, 'admit'>
}

/**
 * Guards of pages. They decide what a browser shows; the data of a page is guarded by the functions that return it. A
 * document is checked when it is requested, and a page that the client-side router opens asks the route of this class.
 */
export class PageGuards {
  readonly #pages: readonly GuardedPage[]
  readonly #patterns: readonly { readonly page: GuardedPage; readonly pattern: RegExp }[]

  constructor(pages: readonly GuardedPage[]) {
    this.#pages = pages
    this.#patterns = pages.flatMap(page => page.paths.map(path => ({ page, pattern: patternOf(path) })))
  }

  /** Route that answers whether the caller may open a page: status 204, or the refusal. Empty without guarded pages. */
  get routes(): readonly HttpHandlerRoute[] {
    if (this.#pages.length === 0) return []
    const summary = 'Whether the caller may open a page'
    return [{ method: 'GET', path: '/api/auth/pages/:name', summary, handle: exchange => this.#ask(exchange) }]
  }

  /** Continues with a document that the caller may open; else redirects to the page that the guard names. */
  admit(exchange: HttpExchange, path: string, next: () => void): void {
    const page = this.#pageAt(path)
    if (page === undefined) next()
    else page.guard.admit(exchange, next, (refused, refusal) => redirect(refused, refusal, page))
  }

  #ask(exchange: HttpExchange): void {
    const page = this.#pages.find(({ name }) => name === exchange.params.name)
    const admitted = (): void => exchange.send(204, 'text/plain', '')
    if (page === undefined) admitted()
    else page.guard.admit(exchange, admitted)
  }

  #pageAt(path: string): GuardedPage | undefined {
    const forms = [path, ...decodedForms(path)].map(each => each.replace(/(?<=.)\/+$/, ''))
    return this.#patterns.find(({ pattern }) => forms.some(each => pattern.test(each)))?.page
  }
}

/** Returns the paths as which static files and routers may read an encoded path such as `/%69nbox` or `//inbox`. */
function decodedForms(path: string): string[] {
  try {
    const segments = path.split('/').map(each => decodeURIComponent(each).replaceAll('/', ' '))
    return [posix.normalize(segments.join('/')), posix.normalize(`/${decodeURIComponent(path)}`)]
  } catch {
    // Nothing reads a path that is not encoded correctly.
    return []
  }
}

function redirect(exchange: HttpExchange, refusal: Refusal, { auth }: GuardedPage): void {
  const target = auth?.redirect ?? null
  if (target === null || refusal.kind !== 'unauthorized') {
    refuse(exchange, refusal)
    return
  }
  const next = encodeURIComponent(exchange.request.url ?? '/')
  const location = `${target}${target.includes('?') ? '&' : '?'}next=${next}`
  exchange.send(302, 'text/plain; charset=utf-8', '', { location, 'cache-control': 'no-store' })
}

/** Returns an expression for the path of a page: `:id` is one segment, and `*` is the rest. */
function patternOf(path: string): RegExp {
  const parts = path.split('/').map(part => {
    if (part.startsWith(':')) return '[^/]+'
    return part === '*' ? '.*' : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`, 'is')
}
