import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { HttpExchange } from '@svc/contracts'
import { dashboardErrors } from '../errors.ts'

export const HTML_TYPE = 'text/html; charset=utf-8'
export const SCRIPT_TYPE = 'text/javascript; charset=utf-8'
/** Caching of files whose name contains the hash of their content. */
export const IMMUTABLE = 'private, max-age=31536000, immutable'

const TYPES: Readonly<Record<string, string>> = {
  '.js': SCRIPT_TYPE,
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json; charset=utf-8',
  '.woff2': 'font/woff2'
}
/** Compressed neighbours of a file, best first. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' }
] as const
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/
/** Maximum number of cached files; a build of the page has far fewer. */
const MAX_CACHED = 500

/** Files of the console's page, which `npm run build` writes to `page-dist/`. */
export class PageFiles {
  readonly #folder: string
  readonly #cache = new Map<string, Buffer>()

  /** `folder`: package of the plugin. */
  constructor(folder: string) {
    this.#folder = join(folder, 'page-dist')
  }

  /** Returns the id of the build; a page with another one has to be loaded again. `none` if the page is not built. */
  async build(): Promise<string> {
    const html = await this.#read('index.html')
    return html === null ? 'none' : createHash('sha256').update(html).digest('hex').slice(0, 12)
  }

  /** Sends the page's document. Throws `DSH_PAGE_MISSING`. */
  async sendShell(exchange: HttpExchange): Promise<void> {
    const html = await this.#read('index.html')
    if (html === null)
      throw dashboardErrors.create('DSH_PAGE_MISSING', "the console's page is not built; run npm run build")
    exchange.send(200, HTML_TYPE, html, { 'cache-control': 'no-cache' })
  }

  /** Sends a file with a hashed name, compressed if the client accepts it. Throws `DSH_FILE_UNKNOWN`. */
  async sendAsset(exchange: HttpExchange): Promise<void> {
    const name = exchange.params.file ?? ''
    const type = TYPES[extname(name)]
    if (!NAME.test(name) || type === undefined || name === 'meta.json') throw unknownFile(name)
    const headers = { 'cache-control': IMMUTABLE, vary: 'Accept-Encoding' }
    const accepted = acceptedEncodings(exchange.request.headers['accept-encoding'])
    for (const { name: encoding, suffix } of ENCODINGS) {
      if (!accepted.has(encoding)) continue
      const body = await this.#cached(name + suffix)
      if (body !== null) {
        exchange.send(200, type, body, { ...headers, 'content-encoding': encoding })
        return
      }
    }
    const body = await this.#cached(name)
    if (body === null) throw unknownFile(name)
    exchange.send(200, type, body, headers)
  }

  async #cached(name: string): Promise<Buffer | null> {
    const known = this.#cache.get(name)
    if (known !== undefined) return known
    const body = await this.#read(name)
    if (body === null) return null
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear()
    this.#cache.set(name, body)
    return body
  }

  async #read(name: string): Promise<Buffer | null> {
    try {
      return await readFile(join(this.#folder, name))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
      throw error
    }
  }
}

/** Parses an Accept-Encoding header; encodings with the weight 0 are not accepted. */
function acceptedEncodings(header: string | string[] | undefined): ReadonlySet<string> {
  const parts = String(header ?? '').split(',')
  return new Set(
    parts.flatMap(part => {
      const [name = '', ...parameters] = part.split(';').map(each => each.trim().toLowerCase())
      return parameters.some(each => /^q=0(\.0*)?$/.test(each)) ? [] : [name]
    })
  )
}

export function unknownFile(name: string): Error {
  return dashboardErrors.create('DSH_FILE_UNKNOWN', `the console has no file ${JSON.stringify(name)}`, {
    hint: 'reload the page: after an update, its files have other names'
  })
}
