interface Address {
  readonly method: string
  readonly path: string
}

/** Maximum edit distance of a name. */
const MAX_WRONG = 2

/** Maximum length of a compared path: the time is quadratic in it. */
const MAX_CHARACTERS = 100

/**
 * The most similar existing path for an unknown one: it differs by a letter or two in total, or in its last name. null
 * if there is none.
 */
export function nearRoute(asked: string, routes: readonly Address[]): Address | null {
  if (asked.length > MAX_CHARACTERS) return null
  let best: { readonly route: Address; readonly wrong: number; readonly away: number } | null = null
  for (const route of routes) {
    const path = filled(route.path, asked)
    const away = lettersBetween(asked, path)
    const name = lastOf(route.path)
    const [wrong, letters] = name.startsWith(':')
      ? [away, route.path.length - name.length]
      : [Math.min(away, lettersBetween(lastOf(asked), name)), name.length]
    // In a short name, two letters are too many.
    if (wrong > MAX_WRONG || wrong * 2 >= letters) continue
    if (best === null || wrong < best.wrong || (wrong === best.wrong && away < best.away)) best = { route, wrong, away }
  }
  return best?.route ?? null
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** A path with the request's values as its parameters. */
function filled(path: string, asked: string): string {
  const given = asked.split('/')
  return path
    .split('/')
    .map((part, index) => (part.startsWith(':') ? (given[index] ?? part) : part))
    .join('/')
}

/** Levenshtein distance, row by row. */
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
