import { otlpErrors } from './errors.ts'

/** Header name, a token of RFC 9110, 5.6.2. */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/**
 * Parses headers in the format of OTEL_EXPORTER_OTLP_HEADERS: `name=value,name=value`, values percent-encoded. Throws
 * `OTL_HEADERS_INVALID`, without the text, which may contain a key.
 */
export function parseHeaders(text: string | undefined, setting = 'headers'): Record<string, string> {
  const headers = parsePairs(text, setting)
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Parses pairs in the same format, such as OTEL_RESOURCE_ATTRIBUTES. Throws `OTL_HEADERS_INVALID`, too. */
export function parsePairs(text: string | undefined, setting: string): Record<string, string> {
  const headers: Record<string, string> = {}
  const pairs = (text ?? '').split(',').map(pair => pair.trim())
  for (const [index, pair] of pairs.entries()) {
    if (pair === '') continue
    const at = pair.indexOf('=')
    const name = pair.slice(0, Math.max(at, 0)).trim()
    const value = decoded(pair.slice(at + 1).trim())
    if (!NAME.test(name) || value === null)
      throw otlpErrors.create('OTL_HEADERS_INVALID', `plugins.otlp.${setting}: pair ${index + 1} is not name=value`, {
        at: { path: `plugins.otlp.${setting}` },
        hint: 'write name=value,name=value; percent-encode commas and other special characters of values'
      })
    headers[name] = value
  }
  return headers
}

function decoded(value: string): string | null {
  try {
    const text = decodeURIComponent(value)
    return /[\r\n\0]/.test(text) ? null : text
  } catch {
    return null
  }
}
