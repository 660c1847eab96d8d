import { readFile } from 'node:fs/promises'
import type { BuiltIn } from './built-in.ts'

/** Content security policy: the page runs only its own script, and connects only to this server. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join('; ')

const FILES = [
  { path: '/docs', file: 'index.html', type: 'text/html; charset=utf-8' },
  { path: '/docs/page.mjs', file: 'page.mjs', type: 'text/javascript; charset=utf-8' },
  { path: '/docs/sample.mjs', file: 'sample.mjs', type: 'text/javascript; charset=utf-8' },
  { path: '/docs/page.css', file: 'page.css', type: 'text/css; charset=utf-8' }
]

/**
 * Returns the routes of a page that shows /openapi.json and calls operations. `folder`: URL of the page's files, with a
 * trailing slash.
 */
export async function docsRoutes(folder: URL): Promise<BuiltIn[]> {
  return Promise.all(
    FILES.map(async ({ path, file, type }): Promise<BuiltIn> => {
      const body = await readFile(new URL(file, folder))
      const headers = {
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-cache'
      }
      return { path, open: true, mainOnly: true, isApiPage: true, answer: () => ({ type, body, headers }) }
    })
  )
}
