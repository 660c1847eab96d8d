import { meshErrors } from './errors.ts'

/** Path below which a control plane serves, and the older one that it serves as well. */
export const MESH_PATH = '/v1/mesh'
export const LEGACY_MESH_PATH = '/v1/populi'
/** Port of a control plane in examples and by default. */
export const MESH_PORT = 9847
/** Beginning of the error texts of a control plane. */
export const MESH_ERROR_PREFIX = 'mesh: '
/** Response header with the features of a control plane, separated by commas. */
export const MESH_FEATURE_HEADER = 'x-populi-feature'
export const MESH_FEATURES = [
  'jwt-bearer-v1',
  'exec-lease-v1',
  'exec-lease-persist-v1',
  'a2a-inbox-limit-v1',
  'result-attest-v1'
] as const

/**
 * Returns the base URL of a control plane: `http://` is added if there is no scheme, and trailing slashes are removed.
 * Throws `MSH_URL_INVALID` if it is no HTTP URL, has credentials, a query or a fragment, or if its host is 0.0.0.0 or
 * [::], which are addresses to listen on.
 */
export function normalizeControlUrl(text: string): string {
  const trimmed = text.trim()
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed) ? trimmed : `http://${trimmed}`
  const url = URL.canParse(withScheme) ? new URL(withScheme) : null
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw meshErrors.create('MSH_URL_INVALID', 'the URL of the control plane is not an HTTP URL', {
      hint: 'write it as http://HOST:9847'
    })
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw meshErrors.create(
      'MSH_URL_INVALID',
      `the URL of the control plane at ${url.host} contains a user, a query or a fragment`,
      { hint: 'write only scheme, host, port and path; set the token as SVC_MESH_TOKEN' }
    )
  }
  if (isUnspecified(url.hostname)) {
    throw meshErrors.create(
      'MSH_URL_INVALID',
      `the control plane cannot be reached at ${url.hostname}, which is only an address to listen on`,
      { hint: 'write the address of the machine, or 127.0.0.1 on this machine' }
    )
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

/** Returns the normalised URLs of a comma-separated list, without duplicates. Throws `MSH_URL_INVALID`. */
export function normalizeControlUrls(list: string): string[] {
  const urls = list.split(',').filter(each => each.trim() !== '')
  return [...new Set(urls.map(normalizeControlUrl))]
}

/** Returns whether a host of a URL means every address of a machine. `URL` has normalised other spellings. */
function isUnspecified(hostname: string): boolean {
  return hostname === '0.0.0.0' || hostname === '[::]' || hostname === '[::ffff:0:0]'
}
