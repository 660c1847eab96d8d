import { extname } from 'node:path'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { HttpExchange, HttpFallback, HttpHandlerRoute } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { hasServiceToken } from '../auth/verifier.ts'
import { runErrors } from '../errors.ts'
import { withElement } from '../pages/html.ts'
import { nearRoute } from './near-routes.ts'
import { findFile } from './static-files.ts'

export interface DocumentOptions {
  /** Folder of static files. */
  readonly folder: string
  /** URL of the SSR dev server to which page requests are forwarded; null if there is none. */
  readonly pages: string | null
  /** True if that server also has the scripts and styles of its pages, as Vite does. */
  readonly forwardsFiles: boolean
  /** Returns the document for a path without a file, as HTML; null if the program has no pages. */
  readonly shell: (path: string) => string | null
  /** Element that is added to every HTML document; null if there is none. */
  readonly element: string | null
  readonly log: Logger
  /** Routes of the program, for suggestions. */
  readonly routes: readonly Pick<HttpHandlerRoute, 'method' | 'path'>[]
  /** Advice for a missing page. */
  readonly hint: string | undefined
}

/** Handles requests without a route: sends pages and static files, or an error with a hint. */
export function documentFallback(options: DocumentOptions): HttpFallback {
  return {
    handle(exchange, allowed) {
      const { url = '/', method = 'GET' } = exchange.request
      const path = url.split('?', 1)[0] ?? '/'
      answer(exchange, path, method, allowed, options).catch((error: unknown) => exchange.fail(error))
    }
  }
}

async function answer(
  exchange: HttpExchange,
  path: string,
  method: string,
  allowed: () => readonly string[],
  options: DocumentOptions
): Promise<void> {
  // A missing function returns an error, never a page.
  const isFunction = path === '/api' || path.startsWith('/api/')
  if (method === 'GET' || method === 'HEAD') {
    if (!isFunction && (await sentDocument(exchange, path, options))) return
    refuse(exchange, path, allowed(), options)
    return
  }
  const methods = allowed()
  const isDocument = methods.length === 0 && !isFunction && (await hasFile(exchange, path, options.folder))
  refuse(exchange, path, isDocument ? ['GET', 'HEAD'] : methods, options)
}

async function sentDocument(exchange: HttpExchange, path: string, options: DocumentOptions): Promise<boolean> {
  const isPage = extname(path) === '' || (exchange.request.headers.accept ?? '').includes('text/html')
  const isForwarded = options.pages !== null && (isPage || options.forwardsFiles)
  if (isForwarded && (await passedOn(exchange, options.pages as string, options))) return true
  if (await sentFile(exchange, path, options)) return true
  // Client-side routing: index.html, or the document of the bundled pages, handles all page paths.
  if (!isPage) return false
  if (await sentFile(exchange, '/index.html', options)) return true
  const shell = options.shell(path)
  if (shell === null) return false
  sendDocument(exchange, shell)
  return true
}

const HTML_TYPE = 'text/html; charset=utf-8'

/** Sends a generated document, which changes with the program. */
function sendDocument(exchange: HttpExchange, document: string): void {
  exchange.send(200, HTML_TYPE, document, { 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
}

function refuse(exchange: HttpExchange, path: string, allowed: readonly string[], options: DocumentOptions): void {
  if (allowed.length > 0) {
    const methods = allowed.join(', ')
    exchange.response.setHeader('allow', methods)
    const message = `${path} does not accept ${exchange.request.method}; it accepts ${methods}`
    exchange.fail(runErrors.create('RUN_METHOD', message))
    return
  }
  const near = nearRoute(path, options.routes)
  const hint = near === null ? options.hint : `did you mean ${near.method} ${near.path}?`
  const more = { hint: hint ?? 'GET /openapi.json lists the routes of the program' }
  exchange.fail(runErrors.create('RUN_NOT_FOUND', `${path} does not exist`, more))
}

/** Options of `@fastify/send`, which rejects dotfiles and paths outside the folder. */
const FILES = { index: ['index.html'], dotfiles: 'ignore' as const }

async function hasFile({ request }: HttpExchange, path: string, folder: string): Promise<boolean> {
  const { statusCode, stream } = await findFile(request, path, { root: folder, ...FILES })
  stream.destroy()
  return statusCode < 400
}

/** Sends a file. Returns false if it does not exist. */
async function sentFile(
  exchange: HttpExchange,
  path: string,
  { folder, element }: Pick<DocumentOptions, 'folder' | 'element'>
): Promise<boolean> {
  const { statusCode, headers, stream } = await findFile(exchange.request, path, { root: folder, ...FILES })
  if (statusCode >= 400 && statusCode !== 412 && statusCode !== 416) {
    stream.destroy()
    return false
  }
  const type = String(new Headers(headers as Record<string, string>).get('content-type') ?? '')
  if (element !== null && statusCode === 200 && type.startsWith('text/html') && exchange.request.method === 'GET') {
    sendDocument(exchange, withElement(await text(stream), element))
    return true
  }
  const response = exchange.stream()
  response.writeHead(statusCode, headers)
  await pipeline(stream, response).catch(() => response.destroy())
  return true
}

/** Headers that apply to one connection, and are not passed on. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-encoding',
  'content-length',
  'upgrade'
])

/** Returns the address of a page at another server. A path such as `//host` must not name a server. */
function addressAt(origin: string, url: string): URL {
  const address = new URL(origin)
  const [path = '/'] = url.split('?', 1)
  address.pathname = path
  address.search = url.slice(path.length)
  return address
}

/** Sends the response of the SSR dev server. Returns false if the server cannot be reached. */
async function passedOn(
  exchange: HttpExchange,
  origin: string,
  { log, element }: Pick<DocumentOptions, 'log' | 'element'>
): Promise<boolean> {
  const { request, caller } = exchange
  const isService = hasServiceToken(caller)
  const headers = Object.entries(request.headers).flatMap(([name, value]) => {
    // The other server must not see the token of the service.
    const isOwn = OF_CONNECTION.has(name) || name === 'host' || (isService && name === 'authorization')
    return value === undefined || isOwn ? [] : [[name, String(value)] as [string, string]]
  })
  let page: Response
  try {
    page = await fetch(addressAt(origin, request.url ?? '/'), { headers, redirect: 'manual', signal: caller.signal })
  } catch (error) {
    if (caller.signal.aborted) return true
    log.warn(`${origin} cannot be reached; static files are sent instead of its pages`, {
      error,
      request_id: caller.requestId
    })
    return false
  }
  const bytes = new Uint8Array(await page.arrayBuffer())
  const type = page.headers.get('content-type') ?? 'text/html'
  const kept = [...page.headers].filter(([name]) => !OF_CONNECTION.has(name) && name !== 'content-type')
  const isExtended = element !== null && type.startsWith('text/html')
  const body = isExtended ? withElement(new TextDecoder().decode(bytes), element) : bytes
  exchange.send(page.status, type, body, Object.fromEntries(kept))
  return true
}
