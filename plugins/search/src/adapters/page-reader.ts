import { type LookupAddress, lookup } from 'node:dns'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { isPublicAddress } from '@svc/contracts'
import { limitedSignal } from '@svc/plugin-sdk'
import { htmlText } from '../indexing/html-text.ts'
import type { Settings } from '../settings.ts'

const MAX_PAGE_BYTES = 1_048_576
const MAX_TEXT_CHARS = 2_000

/** Reads the text of web pages that a search found. */
export class PageReader {
  readonly #settings: () => Pick<Settings, 'scraper_timeout_ms' | 'scraper_min_density' | 'scraper_private'>

  constructor(settings: () => Pick<Settings, 'scraper_timeout_ms' | 'scraper_min_density' | 'scraper_private'>) {
    this.#settings = settings
  }

  /**
   * Returns the text of a page, at most 2,000 characters. Null if it cannot be read in time, is not HTML, has less text
   * per byte than the settings demand, or is on a private address. Redirects are not followed.
   */
  async read(url: string, signal: AbortSignal): Promise<string | null> {
    const { scraper_timeout_ms, scraper_min_density, scraper_private } = this.#settings()
    const limited = limitedSignal(signal, scraper_timeout_ms)
    const html = await fetchPage(new URL(url), scraper_private, limited).catch(() => null)
    signal.throwIfAborted()
    if (html === null || html === '') return null
    const text = htmlText(html).text.replace(/\s+/g, ' ').trim()
    return text.length / html.length < scraper_min_density ? null : text.slice(0, MAX_TEXT_CHARS)
  }
}

type Lookup = (
  host: string,
  options: { readonly all?: boolean },
  done: (error: Error | null, address?: string | LookupAddress[], family?: number) => void
) => void

/** Checks the address that is connected to, so that a name cannot change its address in between. */
const publicLookup: Lookup = (host, { all = false }, done) => {
  lookup(host, { all: true }, (error, addresses = []) => {
    if (error !== null) return done(error)
    const allowed = addresses.filter(({ address }) => isPublicAddress(address))
    const [first] = allowed
    if (first === undefined) return done(new Error('private address'))
    if (all) done(null, allowed)
    else done(null, first.address, first.family)
  })
}

function fetchPage(url: URL, allowsPrivate: boolean, signal: AbortSignal): Promise<string | null> {
  // An address instead of a name is not looked up.
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (!allowsPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return Promise.resolve(null)
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        signal,
        headers: { accept: 'text/html', 'user-agent': 'svc-search' },
        ...(allowsPrivate ? {} : { lookup: publicLookup as never })
      },
      response => {
        const { statusCode, headers } = response
        if (statusCode !== 200 || !/^text\/html\b/i.test(headers['content-type'] ?? '')) {
          response.destroy()
          return resolve(null)
        }
        const chunks: Buffer[] = []
        let length = 0
        response.on('data', (chunk: Buffer) => {
          length += chunk.length
          chunks.push(chunk)
          if (length < MAX_PAGE_BYTES) return
          response.destroy()
          resolve(Buffer.concat(chunks).subarray(0, MAX_PAGE_BYTES).toString('utf8'))
        })
        response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')))
        response.on('error', reject)
      }
    )
    sent.on('error', reject)
    sent.end()
  })
}
