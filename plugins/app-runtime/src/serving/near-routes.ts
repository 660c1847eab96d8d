interface Address {
  readonly method: string
  readonly path: string
}

/** Maximum edit distance of a suggestion. */
const MAX_DISTANCE = 2

/** Maximum length of a compared path: the time is quadratic in it. */
const MAX_CHARACTERS = 100

/**
 * Returns the route most similar to an unknown path; null if none is similar. A similar route differs by at most two
 * letters, in the whole path or in the last segment.
 */
export function nearRoute(requested: string, routes: readonly Address[]): Address | null {
  if (requested.length > MAX_CHARACTERS) return null
  let best: { readonly route: Address; readonly distance: number; readonly pathDistance: number } | null = null
  for (const route of routes) {
    const path = filled(route.path, requested)
    const pathDistance = lettersBetween(requested, path)
    const name = lastOf(route.path)
    const [distance, letters] = name.startsWith(':')
      ? [pathDistance, route.path.length - name.length]
      : [Math.min(pathDistance, lettersBetween(lastOf(requested), name)), name.length]
    // At least half of the letters must match, which excludes short names.
    if (distance > MAX_DISTANCE || distance * 2 >= letters) continue
    if (best === null || distance < best.distance || (distance === best.distance && pathDistance < best.pathDistance))
      best = { route, distance, pathDistance }
  }
  return best?.route ?? null
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** Replaces the parameters of a route path by the segments of the requested path. */
function filled(path: string, requested: string): string {
  const segments = requested.split('/')
  return path
    .split('/')
    .map((part, index) => (part.startsWith(':') ? (segments[index] ?? part) : part))
    .join('/')
}

/** Returns the Levenshtein distance. */
function lettersBetween(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const changed = (above[column - 1] as number) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(changed, (above[column] as number) + 1, (current[column - 1] as number) + 1))
    }
    above = current
  }
  return above[b.length] as number
}
