import type { IncomingMessage } from 'node:http'
import { httpErrors } from './errors.ts'

/**
 * Throws `HTTP_MALFORMED` for a request with two hosts, which a proxy and this server could interpret differently.
 * Replaces an absolute-form target by its path (RFC 9112, 3.2).
 */
export function checkTarget(request: IncomingMessage): void {
  if (countHosts(request.rawHeaders) > 1) throw malformed('the request has more than one Host header')
  const url = request.url as string
  if (url.startsWith('/') || url === '*') return
  const [, host, path] = ABSOLUTE_FORM.exec(url) ?? []
  if (host === undefined || path === undefined) throw malformed('the target of the request is not a path')
  if (host.toLowerCase() !== request.headers.host?.toLowerCase()) {
    throw malformed(`the target of the request names the host "${host}", and the Host header does not`)
  }
  request.url = path.startsWith('/') ? path : `/${path}`
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#@]+)((?:[/?][^#]*)?)$/i

/** Counts Host headers in the raw headers: `headers` has only the first one. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

function malformed(message: string): Error {
  return httpErrors.create('HTTP_MALFORMED', message)
}
