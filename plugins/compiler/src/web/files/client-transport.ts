import { LIVE_HELPERS } from './client-live.ts'

/**
 * Parts of `vox-client.ts` that are the same for all programs. Functions of a program may be called `Object`, `JSON` or
 * `Set`, so platform names are written with `globalThis`.
 */

export const CONNECTION = `/** Address and options of the calls to a program. */
export interface Connection {
  /** Prefix of all paths; default: the origin of the page. */
  baseUrl: string
  /** Sent with each call. */
  headers: Record<string, string>
  /** Bearer token of each call, or a function that returns it. */
  token?: string | null | (() => string | null | Promise<string | null>)
  /** Called after a call with status 401, and when the identity of a live query has ended: the caller must sign in. */
  onUnauthorized?: (error: ApiError) => void
  /** Called after each call that may have changed data; with true if data of the previous caller must not be shown any longer. */
  onChange: Set<(isOtherCaller?: boolean) => void>
  /** Opens the websocket of the live queries again; set by the first one. Call it when \`token\` is that of another user. */
  reconnect?: () => void
  /** Replaces the platform's \`fetch\`. */
  fetch?: typeof globalThis.fetch
  /** Replaces the platform's \`WebSocket\`, which live queries use. */
  WebSocket?: typeof globalThis.WebSocket
}

/** The connection of this module's functions. Change it once, before the first call. */
export const voxClient: Connection = {
  baseUrl: (import.meta as { readonly env?: { readonly VITE_API_URL?: string } }).env?.VITE_API_URL ?? '',
  headers: {},
  onChange: new globalThis.Set()
}

/** A failed call. \`status\` is 0 if no server responded. */
export class ApiError extends globalThis.Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** Stable across versions. */
  readonly code: string | null
  /** Details; for an invalid argument its path, and the expected and the actual value. */
  readonly details: unknown
  /** Body of the response, if it is JSON. */
  readonly body: unknown

  constructor(message: string, status: number, code: string | null, body: unknown) {
    super(message)
    this.status = status
    this.code = code
    this.details = (globalThis.Object(body) as { readonly details?: unknown }).details
    this.body = body
  }
}
`

/** Helpers of the client. A helper is omitted if the rest of the file does not use it. */
export const HELPERS: readonly { readonly name: string; readonly text: string }[] = [
  ...LIVE_HELPERS,
  {
    name: '$admitted',
    text: `/** Throws an ApiError if the caller may not open a page. */
export async function $admitted(page: string): Promise<void> {
  await $call(voxClient, 'GET', '/api/auth/pages/' + $part(page))
}
`
  },
  {
    name: '$part',
    text: `/** Encodes a value as a path segment. */
function $part(value: string | number | bigint | boolean): string {
  return globalThis.encodeURIComponent(globalThis.String(value))
}
`
  },
  {
    name: '$json',
    text: `/** Returns a query string with JSON values, sorted by name. */
function $json(args: Readonly<Record<string, unknown>>): string {
  return $query(args, $print)
}
`
  },
  {
    name: '$text',
    text: `/** Returns a query string with plain strings and numbers. */
function $text(args: Readonly<Record<string, unknown>>): string {
  return $query(args, value => (value === null ? undefined : typeof value === 'object' ? $print(value) : globalThis.String(value)))
}
`
  },
  {
    name: '$query',
    text: `function $query(args: Readonly<Record<string, unknown>>, print: (value: unknown) => string | undefined): string {
  const encode = globalThis.encodeURIComponent
  const pairs = globalThis.Object.entries(args)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([key, value]) => {
      const text = print(value)
      return value === undefined || text === undefined ? [] : [\`\${encode(key)}=\${encode(text)}\`]
    })
  return pairs.length === 0 ? '' : \`?\${pairs.join('&')}\`
}
`
  },
  {
    name: '$upload',
    text: `/** Sends a form with files. Values that are undefined or null are omitted. */
function $upload<T>(to: Partial<Connection>, method: string, path: string, values: Readonly<Record<string, unknown>>): Promise<T> {
  const form = new globalThis.FormData()
  for (const [name, value] of globalThis.Object.entries(values)) {
    if (value === undefined || value === null) continue
    const files = (globalThis.Array.isArray(value) ? value : [value]).filter(each => each instanceof globalThis.Blob)
    for (const file of files) form.append(name, file, 'name' in file ? globalThis.String(file.name) : 'file')
    if (files.length === 0) form.append(name, typeof value === 'string' ? value : $print(value))
  }
  const send = to.fetch ?? globalThis.fetch
  return $call<T>({ ...to, fetch: (url, init) => send(url, { ...init, body: form }) }, method, path)
}
`
  },
  {
    name: '$call',
    text: `async function $call<T>(to: Partial<Connection>, method: string, path: string, content?: unknown): Promise<T> {
  const response = await $raw(to, method, path, content, 'application/json')
  const text = await response.text().catch((error: unknown) => $unreachable(to, path, error))
  const body = $parsed(text)
  if (!response.ok || body === undefined) {
    const { error, code } = globalThis.Object(body) as { readonly error?: unknown; readonly code?: unknown }
    const message = typeof error === 'string' ? error : \`\${path} returned status \${response.status}\`
    const failure = new ApiError(message, response.status, typeof code === 'string' ? code : null, body ?? text)
    if (response.status === 401) to.onUnauthorized?.(failure)
    throw failure
  }
  if (method !== 'GET') for (const listener of to.onChange ?? []) listener(path.startsWith('/api/auth/sign_'))
  return body as T
}
`
  },
  {
    name: '$raw',
    text: `/** Sends a request, and returns the response with any status. */
async function $raw(to: Partial<Connection>, method: string, path: string, content?: unknown, accept = '*/*'): Promise<globalThis.Response> {
  const sent = content === undefined ? undefined : $print(content)
  const type = sent === undefined ? undefined : { 'content-type': 'application/json' }
  const authorization = await $authorization(to)
  const init = {
    method,
    headers: { accept, ...type, ...authorization, ...to.headers },
    ...(sent === undefined ? {} : { body: sent })
  }
  return await (to.fetch ?? globalThis.fetch)((to.baseUrl ?? '') + path, init).catch((error: unknown) => $unreachable(to, path, error))
}

function $unreachable(to: Partial<Connection>, path: string, error: unknown): never {
  const at = to.baseUrl === undefined || to.baseUrl === '' ? '' : \` at \${to.baseUrl}\`
  throw new ApiError(\`\${path}\${at} cannot be reached: \${$reason(error)}\`, 0, null, null)
}

/** Returns the reason of a failed connection. Node has it as the cause of the error; browsers do not reveal it. */
function $reason(error: unknown): string {
  const { cause } = globalThis.Object(error) as { readonly cause?: unknown }
  const { code, message } = globalThis.Object(cause) as { readonly code?: unknown; readonly message?: unknown }
  if (typeof message === 'string' && message !== '') return message
  return typeof code === 'string' ? code : globalThis.String(error)
}
`
  },
  {
    name: '$authorization',
    text: `/** Returns the header with the bearer token of a connection. */
async function $authorization(to: Partial<Connection>): Promise<Record<string, string>> {
  const token = typeof to.token === 'function' ? await to.token() : to.token
  return token === undefined || token === null || token === '' ? {} : { authorization: \`Bearer \${token}\` }
}
`
  },
  {
    name: '$parsed',
    text: `/** Parses JSON. An int beyond 2^53 becomes a bigint with all its digits. Returns undefined if the text is not JSON. */
function $parsed(text: string): unknown {
  if (text === '') return null
  try {
    return $LARGE.test(text) ? $exact(text) : globalThis.JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Matches a text that may contain an int of 16 digits or more. */
const $LARGE = /(?:^|[[:,\\s-])\\d{16,}\\s*(?:[,\\]}]|$)/

function $exact(text: string): unknown {
  // Marks large ints as strings. The mark cannot be guessed, so no other string begins with it.
  const mark = \`\${globalThis.Math.random()}:\`
  const tokens = /"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"|-?\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?/g
  const marked = text.replace(tokens, token => {
    const isLarge = /^-?\\d{16,}$/.test(token) && !globalThis.Number.isSafeInteger(globalThis.Number(token))
    return isLarge ? \`"\${mark}\${token}"\` : token
  })
  return globalThis.JSON.parse(marked, (_key, value: unknown) => {
    return typeof value === 'string' && value.startsWith(mark) ? globalThis.BigInt(value.slice(mark.length)) : value
  })
}
`
  },
  {
    name: '$print',
    text: `/** Prints JSON. A bigint is printed as an int. */
function $print(value: unknown): string {
  try {
    return globalThis.JSON.stringify(value)
  } catch {
    const mark = \`\${globalThis.Math.random()}:\`
    const text = globalThis.JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? mark + each : each))
    return text.replaceAll(new globalThis.RegExp(\`"\${mark}(-?\\\\d+)"\`, 'g'), '$1')
  }
}
`
  },
  {
    name: '$int',
    text: `/**
 * Reads an int of a URL or a form. One beyond 2^53 becomes a bigint, whose type is \`number\` here as in results. Another
 * text stays a text, which the server refuses by its value.
 */
export function $int(text: string | undefined): number {
  const value = globalThis.Number(text)
  if (text === undefined || globalThis.Number.isSafeInteger(value)) return value
  const isLarge = /^-?\\d+$/.test(text)
  return (isLarge ? globalThis.BigInt(text) : text) as unknown as number
}
`
  }
]
