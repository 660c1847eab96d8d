import { type Hir, type HirType, pathParameters } from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import { joinedPath } from '../syntax/page-path.ts'
import { TypeImports } from '../typescript/types.ts'
import { ANY, isNamed } from '../typescript/value-types.ts'
import { isOptional, responseTypeOf } from './endpoints.ts'
import { componentModule, viewNamed, type WebModule } from './web-module.ts'

/** A browser page with resolved references. */
export interface ClientRoute {
  /** Path from the root, with parameters as `:id`. */
  readonly path: string
  readonly component: string
  /** Properties passed to the component, by name. */
  readonly properties: readonly RouteProperty[]
  readonly loader: RouteLoader | null
  readonly pending: string | null
  readonly error: RouteFallback | null
  readonly children: readonly ClientRoute[]
}

/** `data` is the result of the loader, `param` a path or query parameter. */
export interface RouteProperty extends Hir.ViewProperty {
  readonly from: 'data' | 'param'
}

export interface RouteLoader {
  readonly query: string
  readonly params: readonly LoaderParam[]
}

export interface LoaderParam {
  readonly name: string
  readonly type: Hir.Type
  /** True if the client may omit it. */
  readonly isOptional: boolean
}

/** A fallback component, and its property for an error message, if it has one. */
export interface RouteFallback {
  readonly component: string
  readonly property: string | null
}

export interface ClientRoutes {
  readonly routes: readonly ClientRoute[]
  readonly notFound: RouteFallback | null
  readonly error: RouteFallback | null
}

/** Resolves the pages of a program; null if it has no `routes`. */
export function clientRoutes(web: WebModule): { routes: ClientRoutes | null; diagnostics: Diagnostic[] } {
  const reader = new RouteReader(web)
  const pages = web.pages.routes.flatMap(block => block.pages)
  const fallbacks = web.pages.routes.flatMap(block => block.fallbacks)
  const routes = pages.map(page => reader.route(page, ''))
  const fallback = (moment: Hir.PageFallback['moment']): RouteFallback | null => {
    const found = fallbacks.find(each => each.moment === moment)
    return found === undefined ? null : reader.fallback(found.component)
  }
  const found = { routes, notFound: fallback('not_found'), error: fallback('error') }
  const isEmpty = pages.length === 0 && fallbacks.length === 0
  return { routes: isEmpty ? null : found, diagnostics: reader.diagnostics }
}

const OPTIONS = ['loader', 'pending', 'error']

class RouteReader {
  readonly diagnostics: Diagnostic[] = []
  readonly #web: WebModule

  constructor(web: WebModule) {
    this.#web = web
  }

  #report(code: Diagnostic['code'], message: string, at: Hir.Span, suggestions: readonly string[] = []): void {
    this.diagnostics.push(diagnostic(code, message, this.#web.place(at), { suggestions }))
  }

  route(page: Hir.PageRoute, base: string): ClientRoute {
    const path = joinedPath(base, page.path)
    for (const option of page.unknownOptions) {
      const message = `a page has no option \`${option.name}\`; its options are ${OPTIONS.map(each => `\`${each}\``).join(', ')}`
      this.#report('web.route.unknown_option', message, option)
    }
    const { component, pending, error } = page
    const loader = page.loader === null ? null : this.#loader(page.loader, path)
    return {
      path,
      component: component.name,
      properties: this.#properties(component, path, loader),
      loader,
      pending: pending === null ? null : this.fallback(pending).component,
      error: error === null ? null : this.fallback(error),
      children: page.children.map(child => this.route(child, path))
    }
  }

  fallback(component: Hir.Reference): RouteFallback {
    const [first] = this.#propertiesOf(component) ?? []
    return { component: component.name, property: first?.name ?? null }
  }

  /** Returns the properties of a component; null if it is not declared. */
  #propertiesOf(component: Hir.Reference): readonly Hir.ViewProperty[] | null {
    const { pages } = this.#web
    const view = viewNamed(pages, component.name)
    if (view !== undefined) return view.properties
    if (componentModule(pages, component.name) === null) {
      const names = new Set(pages.views.map(({ name }) => `\`${name.name}\``))
      const message = `the component \`${component.name}\` is not declared`
      const suggestions = names.size === 0 ? [] : [`the components are ${[...names].join(', ')}`]
      this.#report('web.route.unknown_component', message, component, suggestions)
    }
    return null
  }

  #loader(loader: Hir.Reference, path: string): RouteLoader | null {
    const { name } = loader
    const query = this.#web.hir.query_fns.find(fn => fn.name === name)
    if (query === undefined) return null
    const known = new Set(pathParameters(path))
    const { locals, params: ids } = query.code
    const params = query.params.map((param, index): LoaderParam => {
      return { name: param.name, type: locals[ids[index] ?? -1]?.type ?? ANY, isOptional: isOptional(param) }
    })
    const missing = params.find(param => {
      const isNeeded = !param.isOptional && !isNamed(param.type, 'Option', 'str')
      return isNeeded && !known.has(param.name)
    })
    if (missing !== undefined) {
      const message = `the loader \`${name}\` needs \`${missing.name}\`, which the path \`${path}\` does not have`
      const suggestion = `add \`:${missing.name}\` to the path, or give the parameter a default`
      this.#report('web.route.missing_parameter', message, loader, [suggestion])
    }
    return { query: query.name, params }
  }

  #properties(component: Hir.Reference, path: string, loader: RouteLoader | null): RouteProperty[] {
    const properties = this.#propertiesOf(component)
    if (properties === null) return []
    const inPath = new Set(pathParameters(path))
    const rest = properties.filter(each => !inPath.has(each.name))
    const taker = loader === null ? undefined : rest.find(each => this.#accepts(each, loader))
    const found: RouteProperty[] = []
    for (const property of properties) {
      if (property === taker) found.push({ ...property, from: 'data' })
      else if (inPath.has(property.name) || isText(property)) found.push({ ...property, from: 'param' })
      else if (!property.isOptional && !isOptionType(property)) {
        const message = `\`${component.name}\` needs \`${property.name}\`, which neither the path nor a loader provides`
        const suggestion = 'give the route a loader that returns that type, or give the parameter a default'
        this.#report('web.route.missing_property', message, component, [suggestion])
      }
    }
    return found
  }

  /** True if a property accepts the result of a loader. A property without a type accepts everything. */
  #accepts(property: Hir.ViewProperty, { query }: RouteLoader): boolean {
    const fn = this.#web.hir.query_fns.find(each => each.name === query)
    const print = (type: HirType | null): string => this.#web.types.print(type, new TypeImports())
    const [expected, result] = [
      print(property.annotation),
      print(fn === undefined ? null : responseTypeOf(fn, this.#web))
    ]
    return expected === result || expected === `${result} | null` || expected.includes('any') || result.includes('any')
  }
}

/** True for types that a path segment can represent. */
function isText({ type }: Hir.ViewProperty): boolean {
  return type !== null && isNamed(type, 'str')
}

function isOptionType({ type }: Hir.ViewProperty): boolean {
  return type !== null && isNamed(type, 'Option')
}
