import type { ServerResponse } from 'node:http'

/** Policy of the console's page: only its own files, no inline code, and DOM sinks only through its policy `svc`. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svc'
].join('; ')

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': PAGE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store'
}

/** Page of the console that lists the operations. `/docs` leads to it. */
export const OPERATIONS_PAGE = '/ui/operations'

/** Sets the headers that every response of the console has. A handler may replace them. */
export function setHeaders(response: ServerResponse): void {
  for (const name in HEADERS) response.setHeader(name, HEADERS[name] as string)
}

/**
 * Returns the policy of a frame for a module of an isolated plugin: it runs only the scripts with these hashes (SHA-256 in
 * base64), loads nothing, and has no origin.
 */
export function framePolicy(hashes: readonly string[]): string {
  const scripts = hashes.map(hash => `'sha256-${hash}'`).join(' ')
  return [
    "default-src 'none'",
    `script-src ${scripts}`,
    'sandbox allow-scripts',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'"
  ].join('; ')
}
