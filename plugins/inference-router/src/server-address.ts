import type { InferenceServer } from '@svc/contracts'
import { routerErrors } from './errors.ts'

/** Header values may hold only these characters. */
const NAME = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

/**
 * Returns the base URL of a server without a trailing slash and without `/v1`, which the routes contain. `at`: setting
 * or source of the server. Throws `IRT_SERVER_INVALID`; no message contains the password of a URL.
 */
function baseUrl(text: string, at: string): string {
  const url = URL.canParse(text) ? new URL(text) : null
  const hint = 'write it as http://HOST:PORT'
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw routerErrors.create('IRT_SERVER_INVALID', `${at}: the url is not an HTTP address`, { at: { path: at }, hint })
  }
  if (url.username !== '' || url.password !== '') {
    throw routerErrors.create('IRT_SERVER_INVALID', `${at}: the url of ${url.host} has a user name or password`, {
      at: { path: at },
      hint: 'remove it, and set api_key to the token of the server'
    })
  }
  if (url.search !== '' || url.hash !== '') {
    throw routerErrors.create('IRT_SERVER_INVALID', `${at}: the url of ${url.host} has a query or fragment`, {
      at: { path: at },
      hint
    })
  }
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '').replace(/\/v1$/, '')}`
}

/** Returns the server with its base URL. Throws `IRT_SERVER_INVALID`. */
export function checkedServer(server: InferenceServer, at: string): InferenceServer {
  if (!NAME.test(server.name)) {
    throw routerErrors.create('IRT_SERVER_INVALID', `${at}: the name has characters other than printable ASCII`, {
      at: { path: at },
      hint: 'choose a name of letters, digits, "-" and "."'
    })
  }
  return { ...server, url: baseUrl(server.url, at) }
}
