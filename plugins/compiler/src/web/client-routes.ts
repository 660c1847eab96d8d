import { type HirParam, pathParameters } from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Name, RouteEntry } from '../syntax/ast.ts'
import { joinedPath } from '../syntax/page-path.ts'
import { isOption, TypeImports } from '../typescript/types.ts'
import { isOptional, responseTypeOf } from './endpoints.ts'
import { componentModule, componentsOf, itemsOf, type Property, type WebModule } from './web-module.ts'

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
export interface RouteProperty extends Property {
  readonly from: 'data' | 'param'
}

export interface RouteLoader {
  readonly query: string
  readonly params: readonly HirParam[]
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
  const entries = itemsOf(web.module, 'Routes').flatMap(block => block.entries)
  const routes = entries.flatMap(entry => (entry.kind === 'RouteEntry' ? [reader.route(entry, '')] : []))
  const fallback = (moment: 'not_found' | 'error'): RouteFallback | null => {
    const found = entries.find(entry => entry.kind === 'RouteFallback' && entry.moment === moment)
    return found === undefined ? null : reader.fallback(found.component)
  }
  const found = { routes, notFound: fallback('not_found'), error: fallback('error') }
  return { routes: entries.length === 0 ? null : found, diagnostics: reader.diagnostics }
}

const OPTIONS = ['loader', 'pending', 'error']

class RouteReader {
  readonly diagnostics: Diagnostic[] = []
  readonly #web: WebModule
  readonly #components: ReadonlyMap<string, readonly Property[]>

  constructor(web: WebModule) {
    this.#web = web
    this.#components = componentsOf(web.module)
  }

  route(entry: RouteEntry, base: string): ClientRoute {
    const path = joinedPath(base, entry.path.value)
    const optionNamed = (key: string): Name | null =>
      entry.options.find(option => option.key.text === key)?.value ?? null
    for (const { key } of entry.options) {
      if (OPTIONS.includes(key.text)) continue
      const message = `a page has no option \`${key.text}\`; its options are ${OPTIONS.map(each => `\`${each}\``).join(', ')}`
      this.diagnostics.push(diagnostic('web.route.unknown_option', message, key))
    }
    const [loaderName, pending, error] = [optionNamed('loader'), optionNamed('pending'), optionNamed('error')]
    const loader = loaderName === null ? null : this.#loader(loaderName, path)
    return {
      path,
      component: entry.component.text,
      properties: this.#properties(entry.component, path, loader),
      loader,
      pending: pending === null ? null : this.fallback(pending).component,
      error: error === null ? null : this.fallback(error),
      children: entry.children.map(child => this.route(child, path))
    }
  }

  fallback(name: Name): RouteFallback {
    const [first] = this.#component(name) ?? []
    return { component: name.text, property: first?.name ?? null }
  }

  /** Returns the properties of a component; null if it is not declared. */
  #component(name: Name): readonly Property[] | null {
    const known = this.#components.get(name.text)
    if (known !== undefined) return known
    if (componentModule(this.#web.module, name.text) === null) {
      const names = [...this.#components.keys()]
      const message = `the component \`${name.text}\` is not declared`
      const suggestions =
        names.length === 0 ? [] : [`the components are ${names.map(each => `\`${each}\``).join(', ')}`]
      this.diagnostics.push(diagnostic('web.route.unknown_component', message, name, { suggestions }))
    }
    return null
  }

  #loader(name: Name, path: string): RouteLoader | null {
    const query = this.#web.hir.query_fns.find(fn => fn.name === name.text)
    if (query === undefined) return null
    const known = new Set(pathParameters(path))
    const missing = query.params.find(param => !isOptional(param) && !known.has(param.name) && !isText(param))
    if (missing !== undefined) {
      const message = `the loader \`${name.text}\` needs \`${missing.name}\`, which the path \`${path}\` does not have`
      const suggestions = [`add \`:${missing.name}\` to the path, or give the parameter a default`]
      this.diagnostics.push(diagnostic('web.route.missing_parameter', message, name, { suggestions }))
    }
    return { query: query.name, params: query.params }
  }

  #properties(name: Name, path: string, loader: RouteLoader | null): RouteProperty[] {
    const properties = this.#component(name)
    if (properties === null) return []
    const inPath = new Set(pathParameters(path))
    const rest = properties.filter(each => !inPath.has(each.name))
    const taker = loader === null ? undefined : rest.find(each => this.#accepts(each, loader))
    const found: RouteProperty[] = []
    for (const property of properties) {
      if (property === taker) found.push({ ...property, from: 'data' })
      else if (inPath.has(property.name) || isText({ type_ann: property.type }))
        found.push({ ...property, from: 'param' })
      else if (!property.isOptional && !isOption(property.type)) {
        const message = `\`${name.text}\` needs \`${property.name}\`, which neither the path nor a loader provides`
        const suggestions = ['give the route a loader that returns that type, or give the parameter a default']
        this.diagnostics.push(diagnostic('web.route.missing_property', message, name, { suggestions }))
      }
    }
    return found
  }

  /** True if a property accepts the result of a loader. A property without a type accepts everything. */
  #accepts(property: Property, { query }: RouteLoader): boolean {
    const fn = this.#web.hir.query_fns.find(each => each.name === query)
    const print = (type: Property['type']): string => this.#web.types.print(type, new TypeImports())
    const [expected, result] = [print(property.type), print(fn === undefined ? null : responseTypeOf(fn))]
    return expected === result || expected === `${result} | null` || expected.includes('any') || result.includes('any')
  }
}

/** True for types that a path segment can represent. */
function isText({ type_ann }: Pick<HirParam, 'type_ann'>): boolean {
  return type_ann !== null && typeof type_ann === 'object' && 'Named' in type_ann && type_ann.Named === 'str'
}
