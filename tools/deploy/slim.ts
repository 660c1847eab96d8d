import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Files of packages that no program reads: declarations, sources of other languages, maps, and texts for developers. */
const UNREAD = /\.(?:map|[cm]?ts|flow|cc|h|gyp|markdown|md)$|(?:^|\/)(?:tsconfig[^/]*\.json|\.[^/]+)$/i
/** Texts that licences require, whatever their ending. */
const NOTICE = /(?:^|\/)(?:licen[cs]e|copying|notice|third-?party)[^/]*$/i

/** Parts of packages that the image cannot use. */
const UNUSED: readonly string[] = [
  // Builds of sql.js for browsers, for debugging and in JavaScript; the engine uses sql-wasm.js.
  'node_modules/sql.js/dist/sql-asm*',
  'node_modules/sql.js/dist/sql-wasm-*',
  'node_modules/sql.js/dist/worker.*',
  'node_modules/sql.js/dist/*.zip',
  // Libraries for musl.
  'node_modules/@libsql/linux-x64-musl',
  'node_modules/@libsql/linux-arm64-musl',
  // Builds for bundlers; Node.js loads build/src.
  'node_modules/@opentelemetry/*/build/esm',
  'node_modules/@opentelemetry/*/build/esnext',
  // Measurements of a library.
  'node_modules/bintrees/test',
  // Types only.
  'node_modules/@types',
  // Pages with which developers look at recorded tests.
  'node_modules/playwright-core/lib/vite'
]

/** Removes files that svc in an image does not need. `folder`: an unpacked release with its libraries. */
export function slim(folder: string): void {
  for (const pattern of UNUSED) removeMatches(folder, pattern.split('/'))
  for (const part of ['node_modules', 'lib'])
    for (const entry of readdirSync(join(folder, part), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      const name = relative(folder, path)
      if (!entry.isFile() || !UNREAD.test(name) || NOTICE.test(name)) continue
      // Plugins read their templates and examples, which may have any ending.
      if (isOwn(name) && !/\.(?:map|d\.[cm]?ts)$/.test(name)) continue
      rmSync(path)
    }
}

/** True for files of this repository's packages. */
function isOwn(name: string): boolean {
  return /^lib\/node_modules\/@[^/]+\/[^/]+\/(?!.*node_modules\/)/.test(name)
}

/** Removes what a path matches; `*` is any text within a name. */
function removeMatches(folder: string, [first = '', ...rest]: readonly string[]): void {
  if (!existsSync(folder)) return
  const name = new RegExp(`^${first.split('*').map(escapeText).join('.*')}$`)
  for (const entry of readdirSync(folder).filter(each => name.test(each))) {
    const path = join(folder, entry)
    if (rest.length === 0) rmSync(path, { recursive: true })
    else removeMatches(path, rest)
  }
}

function escapeText(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
