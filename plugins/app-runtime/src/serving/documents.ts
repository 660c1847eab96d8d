import { extname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import send from '@fastify/send'
import type { HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { JSON_TYPE } from './program-routes.ts'

export interface DocumentOptions {
  /** Folder of files that are sent as they are. */
  readonly folder: string
  /** Server of pages that is asked before files are; null where there is none. */
  readonly pages: string | null
  readonly log: Logger
  /** What else than GET a path takes. */
  methodsOf(path: string): readonly string[]
  /** What to do where no page is found. */
  readonly hint: string | undefined
}

/** What a browser asks for beyond the functions: a page, or a file of it. */
export function documentRoute(options: DocumentOptions): HttpHandlerRoute {
  return {
    method: 'GET',
    path: '/*',
    summary: 'Pages and files',
    handle(exchange) {
      answer(exchange, options).catch((error: unknown) => exchange.fail(error))
    }
  }
}

async function answer(exchange: HttpExchange, options: DocumentOptions): Promise<void> {
  const { request } = exchange
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/'
  // A function that is not there has no page in its place.
  if (path === '/api' || path.startsWith('/api/')) return missing(exchange, path, options)
  const isPage = extname(path) === '' || (request.headers.accept ?? '').includes('text/html')
  if (options.pages !== null && isPage && (await passedOn(exchange, options.pages, options.log))) return
  if (await sentFile(exchange, path, options.folder)) return
  // Addresses of pages are the business of the page itself.
  if (isPage && (await sentFile(exchange, '/index.html', options.folder))) return
  missing(exchange, path, options)
}

function missing(exchange: HttpExchange, path: string, { methodsOf, hint }: DocumentOptions): void {
  const methods = methodsOf(path)
  if (methods.length === 0) {
    const body = { error: `there is nothing at ${path}`, code: 'RUN_NOT_FOUND', hint }
    exchange.send(404, JSON_TYPE, JSON.stringify(body))
    return
  }
  const allow = methods.join(', ')
  const body = { error: `${path} does not take ${exchange.request.method}; it takes ${allow}`, code: 'RUN_METHOD' }
  exchange.send(405, JSON_TYPE, JSON.stringify(body), { allow })
}

/** Whether there was such a file. Paths that lead out of the folder, and names that begin with a point, are none. */
async function sentFile(exchange: HttpExchange, path: string, folder: string): Promise<boolean> {
  const { statusCode, headers, stream } = await send(exchange.request, path, {
    root: folder,
    index: ['index.html'],
    dotfiles: 'ignore'
  })
  if (statusCode >= 400 && statusCode !== 412 && statusCode !== 416) {
    stream.destroy()
    return false
  }
  const response = exchange.stream()
  response.writeHead(statusCode, headers)
  await pipeline(stream, response).catch(() => response.destroy())
  return true
}

/** Headers that belong to one connection. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-encoding',
  'content-length',
  'upgrade'
])

/** Whether the server of pages has answered. */
async function passedOn(exchange: HttpExchange, origin: string, log: Logger): Promise<boolean> {
  const { request, caller } = exchange
  const headers = Object.entries(request.headers).flatMap(([name, value]) => {
    const isOwn = OF_CONNECTION.has(name) || name === 'host' || name === 'authorization'
    return value === undefined || isOwn ? [] : [[name, String(value)] as [string, string]]
  })
  let page: Response
  try {
    page = await fetch(new URL(request.url ?? '/', origin), { headers, redirect: 'manual', signal: caller.signal })
  } catch (error) {
    if (caller.signal.aborted) return true
    log.warn(`${origin} does not answer; files are sent in place of its pages`, { error })
    return false
  }
  const bytes = new Uint8Array(await page.arrayBuffer())
  const kept = [...page.headers].filter(([name]) => !OF_CONNECTION.has(name) && name !== 'content-type')
  exchange.send(page.status, page.headers.get('content-type') ?? 'text/html', bytes, Object.fromEntries(kept))
  return true
}
