import type { EmittedFile } from '../emitted-file.ts'
import { answerOf, argumentObject, type Endpoint, endpointsOf, parameterList } from '../endpoints.ts'
import { header } from '../header.ts'
import { literal, valueName } from '../typescript-names.ts'
import { TypeImports } from '../typescript-types.ts'
import type { WebModule } from '../web-module.ts'

const TRANSPORT = `/** Where and how functions are called. Change it once, before the first call. */
export const voxClient = {
  /** What paths are added to; without it, the origin of the page. */
  baseUrl: (import.meta as { readonly env?: { readonly VITE_API_URL?: string } }).env?.VITE_API_URL ?? '',
  /** Sent with each call: \`voxClient.headers.authorization = 'Bearer …'\`. */
  headers: {} as Record<string, string>,
  /** Told after each call that may have changed data. */
  onChange: new Set<() => void>()
}

/** A call that was not answered with a value. \`status\` is 0 where no server answered. */
export class ApiError extends globalThis.Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: string | null
  /** What the server sent, as far as it is JSON. */
  readonly body: unknown

  constructor(message: string, status: number, code: string | null, body: unknown) {
    super(message)
    this.status = status
    this.code = code
    this.body = body
  }
}

type Arguments = Readonly<Record<string, unknown>>

async function $get<T>(path: string, args: Arguments): Promise<T> {
  const pairs = Object.entries(args)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => \`\${encodeURIComponent(key)}=\${encodeURIComponent(JSON.stringify(value))}\`)
  return await $send<T>(pairs.length === 0 ? path : \`\${path}?\${pairs.join('&')}\`, {})
}

async function $post<T>(path: string, args: Arguments): Promise<T> {
  const headers = { 'content-type': 'application/json' }
  const value = await $send<T>(path, { method: 'POST', headers, body: JSON.stringify(args) })
  for (const listener of voxClient.onChange) listener()
  return value
}

async function $send<T>(path: string, init: { method?: string; headers?: Record<string, string>; body?: string }): Promise<T> {
  let response: Response
  let text: string
  try {
    response = await globalThis.fetch(voxClient.baseUrl + path, {
      ...init,
      headers: { accept: 'application/json', ...init.headers, ...voxClient.headers }
    })
    text = await response.text()
  } catch (error) {
    throw new ApiError(\`\${path} cannot be reached: \${String(error)}\`, 0, null, null)
  }
  const body = $json(text)
  if (response.ok && body !== undefined) return body as T
  const { error, code } = Object(body) as { readonly error?: unknown; readonly code?: unknown }
  const message = typeof error === 'string' ? error : \`\${path} answered with \${response.status}\`
  throw new ApiError(message, response.status, typeof code === 'string' ? code : null, body ?? text)
}

/** undefined for a text that is no JSON. */
function $json(text: string): unknown {
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
`

/** `vox-client.ts`: a function for each query, mutation and server function. None for a program without them. */
export function clientFile(web: WebModule): EmittedFile | null {
  const endpoints = endpointsOf(web.hir)
  if (endpoints.length === 0) return null
  const imports = new TypeImports()
  const functions = endpoints.map(endpoint => functionText(web, endpoint, imports))
  const lines = imports.lines()
  const parts = [header(web.name), ...(lines.length === 0 ? [] : [`${lines.join('\n')}\n`]), TRANSPORT, ...functions]
  return { path: 'vox-client.ts', text: withoutUnused(parts.join('\n'), endpoints) }
}

function functionText(web: WebModule, endpoint: Endpoint, imports: TypeImports): string {
  const { name, params, route_path, method } = endpoint
  const type = web.types.result(answerOf(endpoint), imports)
  const head = `export async function ${valueName(name)}(${parameterList(web, params, imports)}): Promise<${type}>`
  const call = `${method === 'GET' ? '$get' : '$post'}<${type}>(${literal(route_path)}, ${argumentObject(params)})`
  return `/** \`${method} ${route_path}\` */\n${head} {\n  return await ${call}\n}\n`
}

/** A strict project has no functions that nobody calls. */
function withoutUnused(text: string, endpoints: readonly Endpoint[]): string {
  const without = (start: string): string => {
    const at = text.indexOf(start)
    return text.slice(0, at) + text.slice(text.indexOf('\n}\n', at) + 4)
  }
  if (endpoints.every(({ method }) => method === 'POST')) return without('async function $get')
  if (endpoints.every(({ method }) => method === 'GET')) return without('async function $post')
  return text
}
