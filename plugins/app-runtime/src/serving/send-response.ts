import { realpath } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { type HttpExchange, hostName, isLoopback } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import type { ResponseCookie } from '../interpreter/response.ts'
import type { SentResponse } from './messages.ts'
import { findFile } from './static-files.ts'

/** Statuses of a file, of its part, and of an unchanged one. Others are those of a folder, or of a file that is hidden. */
const OF_FILES: ReadonlySet<number> = new Set([200, 206, 304, 412, 416])

/** Statuses whose responses have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** Sends a `Response` of the program. `folder`: the public directory, below which its files are. */
export function sendResponse(
  exchange: HttpExchange,
  status: number,
  { headers, cookies, content }: SentResponse,
  folder: string
): void {
  const { request, response } = exchange
  const named = headersOf(headers)
  if (cookies.length > 0)
    response.setHeader(
      'set-cookie',
      cookies.map(cookie => cookieText(cookie, request))
    )
  if (content.kind === 'file') {
    sendFile(exchange, status, named, content.path, folder).catch((error: unknown) => exchange.fail(error))
    return
  }
  const type = named.get('content-type') ?? 'text/plain; charset=utf-8'
  named.delete('content-type')
  const body = WITHOUT_BODY.has(status) ? '' : content.kind === 'text' ? content.text : content.bytes
  exchange.send(status, type, body, Object.fromEntries(named))
}

/** Returns the headers by name; values of equal names are joined (RFC 9110, 5.3), except for the type: its last counts. */
function headersOf(headers: SentResponse['headers']): Map<string, string> {
  const named = new Map([['x-content-type-options', 'nosniff']])
  for (const [name, value] of headers) {
    const known = name === 'content-type' || name === 'x-content-type-options' ? undefined : named.get(name)
    named.set(name, known === undefined ? value : `${known}, ${value}`)
  }
  return named
}

/** Sends a file, or its requested part. A path that leaves the folder, also by a link, does not exist. */
async function sendFile(
  exchange: HttpExchange,
  status: number,
  headers: ReadonlyMap<string, string>,
  path: string,
  folder: string
): Promise<void> {
  const name = await nameBelow(folder, path)
  const { url, method = 'GET' } = exchange.request
  // A file as the body of an error has no parts, and is never "not modified".
  const request = status === 200 ? exchange.request : ({ url, method, headers: {} } as IncomingMessage)
  const { response } = exchange
  const options = {
    index: false as const,
    dotfiles: 'ignore' as const,
    cacheControl: !response.hasHeader('cache-control')
  }
  const found = name === null ? null : await findFile(request, name.encoded, { root: name.root, ...options })
  if (found === null || !OF_FILES.has(found.statusCode)) {
    found?.stream.destroy()
    response.removeHeader('set-cookie')
    throw runErrors.create('RUN_NOT_FOUND', `${exchange.request.url?.split('?', 1)[0]} does not exist`)
  }
  const stream = exchange.stream()
  const own = Object.entries(found.headers).map(([key, value]) => [key.toLowerCase(), String(value)] as const)
  stream.writeHead(found.statusCode === 200 ? status : found.statusCode, Object.fromEntries([...own, ...headers]))
  // The client notices an error by the missing rest: the head is sent.
  await pipeline(found.stream, stream).catch(() => stream.destroy())
}

/** Returns the real folder, and the path of a file below it for a URL; null if the file is not below it. */
async function nameBelow(folder: string, path: string): Promise<{ root: string; encoded: string } | null> {
  if (path.includes('\0')) return null
  try {
    const [root, file] = await Promise.all([realpath(folder), realpath(join(folder, path))])
    if (!file.startsWith(root + sep)) return null
    return { root, encoded: `/${relative(root, file).split(sep).map(encodeURIComponent).join('/')}` }
  } catch {
    return null
  }
}

/** Returns a value of the header `Set-Cookie`. Browsers accept secure cookies of this machine over plain HTTP only in part. */
function cookieText(cookie: ResponseCookie, { headers }: IncomingMessage): string {
  const { name, value, path, domain, maxAge, sameSite, isHttpOnly, isSecure } = cookie
  const { host } = headers
  const secure = isSecure ?? !(host !== undefined && isLoopback(hostName(host)))
  return [
    `${name}=${value}`,
    `Path=${path}`,
    ...(domain === null ? [] : [`Domain=${domain}`]),
    ...(maxAge === null ? [] : [`Max-Age=${maxAge}`]),
    ...(isHttpOnly ? ['HttpOnly'] : []),
    `SameSite=${sameSite}`,
    ...(secure ? ['Secure'] : [])
  ].join('; ')
}
