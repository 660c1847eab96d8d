/** A route as `app.describe` returns it. */
export interface Route {
  readonly route: string
  readonly method: string
  readonly path: string
  readonly kind: 'query' | 'mutation' | 'server' | 'route'
  readonly body: 'none' | 'any' | 'fields' | 'whole'
  readonly params: readonly Param[]
  readonly returns: string
  readonly auth: 'none' | 'bearer'
}

export interface Param {
  readonly name: string
  readonly in: 'path' | 'query' | 'body'
  readonly type: string
  readonly required: boolean
}

/** Types whose values are written as plain text. */
const TEXTS: ReadonlySet<string> = new Set(['str', 'char', 'dec', 'any'])

/** Returns the type without `Option`. */
export function plainType(type: string): string {
  return /^Option\[(.*)\]$/.exec(type)?.[1] ?? type
}

export function isText({ type }: Param): boolean {
  return TEXTS.has(plainType(type))
}

/**
 * Returns the input of `app.request` from the texts of a route's parameters. Empty texts are left out. Throws an error
 * that names the parameter.
 */
export function requestOf(
  { method, path, kind, body, params }: Route,
  texts: Readonly<Record<string, string>>,
  wholeBody: string
): { readonly method: string; readonly path: string; readonly query?: object; readonly body?: unknown } {
  const given = params.filter(({ name }) => (texts[name] ?? '') !== '')
  const missing = params.find(param => param.in === 'path' && !given.includes(param))
  if (missing !== undefined) throw new Error(`${missing.name} is part of the path and needs a value`)
  const filled = path.replace(/:([A-Za-z_]\w*)/g, (_, name: string) => encodeURIComponent(texts[name] ?? ''))
  const query = given
    .filter(param => param.in === 'query')
    .map(param => {
      const text = texts[param.name] as string
      // A query function reads JSON, a route reads plain texts.
      return [param.name, kind === 'query' && isText(param) ? JSON.stringify(text) : text] as const
    })
  const fields = given.filter(param => param.in === 'body')
  return {
    method,
    path: filled,
    ...(query.length === 0 ? {} : { query: Object.fromEntries(query) }),
    ...(body === 'fields'
      ? { body: Object.fromEntries(fields.map(param => [param.name, jsonOf(param, texts[param.name] as string)])) }
      : {}),
    ...(body === 'whole' && fields[0] !== undefined
      ? { body: jsonOf(fields[0], texts[fields[0].name] as string) }
      : {}),
    ...(body === 'any' && wholeBody !== '' ? { body: wholeBody } : {})
  }
}

function jsonOf(param: Param, text: string): unknown {
  if (isText(param)) return text
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${param.name} has the type ${param.type}; write it as JSON: ${(error as Error).message}`)
  }
}

/** Reads headers from lines such as `authorization: Bearer …`. */
export function headersOf(text: string): Record<string, string> {
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  return Object.fromEntries(
    lines.map(line => {
      const colon = line.indexOf(':')
      if (colon < 1) throw new Error(`"${line}" is not a header; write NAME: VALUE`)
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    })
  )
}
