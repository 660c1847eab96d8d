import type { Bindings, Link } from '@svc/contracts'

/** Values that bindings refer to. */
export interface BindingScope {
  readonly route: Readonly<Record<string, string>>
  readonly filters: URLSearchParams
  readonly row?: unknown
}

/** Returns the value at a dotted path; undefined if there is none. */
export function valueAt(value: unknown, path: string | undefined): unknown {
  if (path === undefined || path === '') return value
  // Most fields are not nested, and tables read them very often.
  if (!path.includes('.')) return isObject(value) && Object.hasOwn(value, path) ? value[path] : undefined
  let found: unknown = value
  for (const part of path.split('.')) {
    if (!isObject(found) || !Object.hasOwn(found, part)) return undefined
    found = found[part]
  }
  return found
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Returns the input that bindings describe. Bindings without a value are left out. */
export function boundInput(bindings: Bindings | undefined, scope: BindingScope): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const [field, binding] of Object.entries(bindings ?? {})) {
    const value =
      'value' in binding
        ? binding.value
        : binding.from === 'route'
          ? scope.route[binding.name]
          : binding.from === 'filter'
            ? (scope.filters.get(binding.name) ?? undefined)
            : valueAt(scope.row, binding.name)
    if (value !== undefined && value !== '') input[field] = value
  }
  return input
}

/** Returns the address of a link's page; null if a parameter of its path has no value. */
export function linkAddress({ page, params }: Link, scope: BindingScope): string | null {
  const values = boundInput(params, scope)
  const segments: string[] = []
  for (const part of page.split('/')) {
    if (!part.startsWith(':')) {
      segments.push(part)
      continue
    }
    const value = values[part.slice(1)]
    if (value === undefined || value === null) return null
    delete values[part.slice(1)]
    segments.push(encodeURIComponent(String(value)))
  }
  const rest = new URLSearchParams(Object.entries(values).map(([name, value]) => [name, String(value)])).toString()
  return `/ui/p/${segments.join('/')}${rest === '' ? '' : `?${rest}`}`
}
