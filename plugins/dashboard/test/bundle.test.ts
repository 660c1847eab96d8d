import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tap from 'tap'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const DIST = join(ROOT, 'page-dist')

if (!existsSync(DIST)) execFileSync(process.execPath, [join(ROOT, 'page', 'build.mjs')])

interface Output {
  readonly imports: readonly { readonly path: string; readonly kind: string }[]
  readonly entryPoint?: string
}

const meta = JSON.parse(readFileSync(join(DIST, 'meta.json'), 'utf8')) as {
  inputs: Record<string, unknown>
  outputs: Record<string, Output>
}
const nameOf = (path: string): string => path.split('/').at(-1) as string
const outputs = new Map(Object.entries(meta.outputs).map(([path, output]) => [nameOf(path), output]))
const gzipped = (name: string): number => statSync(join(DIST, `${name}.gz`)).size

/** Files that a file loads at once: its static imports, and theirs. */
function loadedWith(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found
  found.add(name)
  for (const { path, kind } of outputs.get(name)?.imports ?? [])
    if (kind === 'import-statement') loadedWith(nameOf(path), found)
  return found
}

const entry = [...outputs].find(([, { entryPoint }]) => entryPoint?.endsWith('page/src/main.tsx'))?.[0] as string
const styles = [...outputs.keys()].find(name => name.endsWith('.css')) as string
const sum = (names: Iterable<string>): number => [...names].reduce((total, name) => total + gzipped(name), 0)

tap.test('the first load of the console has at most 60 kB, compressed', async tap => {
  const first = sum([...loadedWith(entry), styles, 'index.html'])
  tap.ok(first <= 60_000, `${first} bytes`)
})

tap.test('each part that is loaded later has at most 110 kB, and all together 350 kB, compressed', async tap => {
  const first = loadedWith(entry)
  const later = [...outputs.keys()].filter(name => !first.has(name) && name !== styles)
  tap.ok(later.length > 5, `${later.length} parts`)
  for (const name of later) tap.ok(gzipped(name) <= 110_000, `${name}: ${gzipped(name)} bytes`)
  tap.ok(sum(outputs.keys()) <= 350_000, `${sum(outputs.keys())} bytes`)
})

tap.test('the console loads nothing from another host', async tap => {
  // Addresses that libraries name in texts, and XML namespaces, are never loaded.
  const texts = /^https?:\/\/(www\.w3\.org|json-schema\.org|github\.com|developer\.mozilla\.org|example\.com)\//
  for (const name of readdirSync(DIST).filter(each => /\.(js|css|html)$/.test(each))) {
    const found = readFileSync(join(DIST, name), 'utf8').match(/https?:\/\/[a-z0-9.-]+\.[a-z]{2,}\/?/g) ?? []
    tap.same(
      found.filter(url => !texts.test(url.endsWith('/') ? url : `${url}/`)),
      [],
      name
    )
    tap.notMatch(readFileSync(join(DIST, name), 'utf8'), /@import|url\(["']?(https?:)?\/\//, name)
  }
})

tap.test('the console contains no code that is written for Node', async tap => {
  const server = /(^|\/)(plugin-sdk|contracts|plugins\/dashboard)\/(src|dist)\//
  tap.same(
    Object.keys(meta.inputs).filter(path => server.test(path)),
    []
  )
})
