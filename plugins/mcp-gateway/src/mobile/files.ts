import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

export interface MobileFile {
  readonly type: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

const STYLE = '/*style*/'
const SCRIPT = '/*script*/'

/** Assets of the page, by path. */
const ASSETS = [
  { path: '/v1/mobile/manifest.webmanifest', file: 'manifest.json', type: 'application/manifest+json; charset=utf-8' },
  { path: '/v1/mobile/icon.svg', file: 'icon.svg', type: 'image/svg+xml; charset=utf-8' },
  { path: '/v1/mobile/worker.js', file: 'worker.js', type: 'text/javascript; charset=utf-8' }
]

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
  // The page is one level above its worker.
  'service-worker-allowed': '/v1/mobile'
}

/**
 * Reads the page and its installation files; returns them by path. `folder`: URL of the files, with a trailing slash.
 */
export async function mobileFiles(folder: URL): Promise<ReadonlyMap<string, MobileFile>> {
  const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8')
  const [frame, style, script] = await Promise.all([read('index.html'), read('page.css'), read('page.mjs')])
  // Replacement functions, because `$` has a special meaning in replacement strings.
  const body = frame.replace(STYLE, () => style).replace(SCRIPT, () => script)
  const assets = await Promise.all(
    ASSETS.map(async ({ path, file, type }) => [path, { type, body: await read(file), headers: HEADERS }] as const)
  )
  const page: MobileFile = {
    type: 'text/html; charset=utf-8',
    body,
    headers: { ...HEADERS, 'content-security-policy': policy(style, script) }
  }
  return new Map([['/v1/mobile', page], ...assets])
}

/** Returns a content security policy for the page's inline style and script, and connections to this server only. */
function policy(style: string, script: string): string {
  return [
    "default-src 'none'",
    `style-src '${digest(style)}'`,
    `script-src '${digest(script)}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "manifest-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join('; ')
}

function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
