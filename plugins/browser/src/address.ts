import { browserErrors } from '@svc/contracts'

/** Normalises an address for the browser. Throws `BRW_ADDRESS` for a forbidden address. */
export function allowedAddress(url: string, fileUrls: boolean): string {
  if (url === 'about:blank') return url
  const parsed = URL.canParse(url) ? new URL(url) : null
  if (parsed === null) {
    throw browserErrors.create('BRW_ADDRESS', `${shownAddress(url)} is not a URL`, {
      hint: 'begin the address with https:// or http://'
    })
  }
  const { protocol, href } = parsed
  if (protocol === 'http:' || protocol === 'https:') return href
  if (protocol === 'file:' && fileUrls) return href
  throw browserErrors.create('BRW_ADDRESS', `${shownAddress(url)}: pages with ${protocol} are not allowed`, {
    hint:
      protocol === 'file:'
        ? 'set plugins.browser.file_urls to true to allow them'
        : 'pages with http: and https: are allowed'
  })
}

/** Returns a URL without user, password and query, which may be secret. */
export function shownAddress(url: string): string {
  if (!URL.canParse(url)) return url.split(/[?#]/, 1)[0] ?? ''
  const { protocol, host, pathname } = new URL(url)
  return protocol === 'data:' ? 'data:' : `${protocol}${host === '' ? '' : `//${host}`}${pathname}`
}
