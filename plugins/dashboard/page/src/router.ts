import { computed, signal } from '@preact/signals'

const current = signal(locationOf())

function locationOf(): { readonly path: string; readonly query: string } {
  return { path: location.pathname, query: location.search }
}

addEventListener('popstate', () => {
  current.value = locationOf()
})

/** Path of the open page, without a trailing slash. */
export const path = computed(() => current.value.path.replace(/(.)\/$/, '$1'))
/** Filters of the open page. */
export const query = computed(() => new URLSearchParams(current.value.query))

/** Opens a page of the console. */
export function navigate(to: string): void {
  if (to === location.pathname + location.search) return
  history.pushState(null, '', to)
  current.value = locationOf()
}

/**
 * Changes filters of the open page in its URL without a new entry in the history. Empty values are removed, except those
 * of `kept`.
 */
export function setQuery(changes: Readonly<Record<string, string>>, kept: readonly string[] = []): void {
  const next = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '' && !kept.includes(name)) next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  history.replaceState(null, '', location.pathname + (text === '' ? '' : `?${text}`))
  current.value = locationOf()
}

/** Follows links inside the console without loading the page again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
  const link = (event.target as Element).closest('a')
  if (link === null || link.target !== '' || link.origin !== location.origin) return
  if (link.pathname !== '/' && !link.pathname.startsWith('/ui')) return
  event.preventDefault()
  navigate(link.pathname + link.search)
}

/** Returns the parameters of a path that matches a pattern with `:name` segments; null if it does not match. */
export function matchPath(pattern: string, actual: string): Readonly<Record<string, string>> | null {
  const expected = pattern.split('/')
  const segments = actual.split('/')
  if (expected.length !== segments.length) return null
  const params: Record<string, string> = {}
  for (const [index, part] of expected.entries()) {
    const segment = segments[index] as string
    if (part.startsWith(':')) {
      try {
        params[part.slice(1)] = decodeURIComponent(segment)
      } catch {
        return null
      }
    } else if (part !== segment) return null
  }
  return params
}
