import { pipeline } from 'node:stream'
import type { HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import type { ByteRange } from './blob-store.ts'
import type { FileInfo } from './file-info.ts'
import type { FileStorage } from './file-storage.ts'
import { FILES_PATH, type FileUrls } from './file-urls.ts'

/** Types that a browser may show. Others, such as HTML and SVG, could run scripts, so they are only downloaded. */
const SHOWN =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp|x-icon)|audio\/[\w.+-]+|video\/[\w.+-]+|application\/pdf|text\/plain)$/

/** Returns the routes that send files under signed paths. */
export function downloadRoutes(storage: FileStorage, urls: FileUrls): HttpHandlerRoute[] {
  return [
    {
      method: 'GET',
      path: `${FILES_PATH}:id/:name`,
      summary: 'Files of the program, under signed paths',
      handle(exchange) {
        send(exchange, storage, urls).catch((error: unknown) => exchange.fail(error))
      }
    }
  ]
}

async function send(exchange: HttpExchange, storage: FileStorage, urls: FileUrls): Promise<void> {
  const query = new URLSearchParams(exchange.query)
  const { id = '' } = exchange.params
  const now = Date.now()
  const until = urls.verify(id, query.get('expires') ?? '', query.get('signature') ?? '', now)
  if (until === null) {
    throw runErrors.create('RUN_FILE_URL', 'the path of the file is not valid or has expired', {
      hint: 'request a new one from the program'
    })
  }
  const file = await storage.find(id)
  await sendFile(exchange, storage, file, `private, max-age=${Math.max(0, until - Math.floor(now / 1000))}, immutable`)
}

/** Sends a file or the requested part of it. */
export async function sendFile(
  exchange: HttpExchange,
  storage: FileStorage,
  file: FileInfo,
  cacheControl: string
): Promise<void> {
  const { request } = exchange
  // Content never changes, so the id names its version.
  const etag = `"${file.id}"`
  const headers: Record<string, string> = {
    'accept-ranges': 'bytes',
    'cache-control': cacheControl,
    'content-disposition': disposition(file),
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    etag
  }
  if (isCached(request.headers['if-none-match'], etag)) {
    exchange.send(304, file.contentType, '', headers)
    return
  }
  const ifRange = request.headers['if-range']
  const wanted = ifRange === undefined || ifRange === etag ? request.headers.range : undefined
  const range = wanted === undefined ? null : rangeOf(wanted, file.size)
  if (range === 'unsatisfiable') {
    exchange.send(416, 'text/plain; charset=utf-8', 'the file has no such range\n', {
      ...headers,
      'content-range': `bytes */${file.size}`
    })
    return
  }
  const content = file.size === 0 ? null : await storage.read(file.id, range ?? undefined)
  const response = exchange.stream()
  response.writeHead(range === null ? 200 : 206, {
    ...headers,
    'content-type': SHOWN.test(file.contentType) ? file.contentType : 'application/octet-stream',
    'content-length': range === null ? file.size : range.end - range.start + 1,
    ...(range === null ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${file.size}` })
  })
  if (content === null) {
    response.end()
    return
  }
  // The client notices an error by the missing rest: the head is sent.
  pipeline(content, response, () => undefined)
}

/** Reads the header `If-None-Match` (RFC 9110, 13.1.2): proxies that compress make entity tags weak. */
function isCached(header: string | undefined, etag: string): boolean {
  const tags = header?.split(',').map(each => each.trim().replace(/^W\//, '')) ?? []
  return tags.includes(etag) || tags.includes('*')
}

/** Reads the header `Range` (RFC 9110, section 14). Returns null if the whole file is sent: for several ranges, too. */
export function rangeOf(header: string, size: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header.trim())
  if (match === null) return null
  const [, first = '', last = ''] = match
  if (first === '' && last === '') return null
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return null
  if (start >= size) return 'unsatisfiable'
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

/** Returns the header with the name of a file, in ASCII and in UTF-8 (RFC 6266). */
function disposition({ name, contentType }: FileInfo): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(/['()*]/g, each => `%${each.charCodeAt(0).toString(16)}`)
  return `${SHOWN.test(contentType) ? 'inline' : 'attachment'}; filename="${plain}"; filename*=UTF-8''${encoded}`
}
