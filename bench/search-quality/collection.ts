import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const README_PACKAGES = [
  ...['ajv', 'avvio', 'chokidar', 'fast-check', 'find-my-way', 'hono', 'htmlparser2', 'ignore', 'jose', 'libsql'],
  ...['marked', 'semver', 'smol-toml', 'sql.js', 'tap', 'ws', 'yaml', 'zod']
]
/** Folders of documents, from `node_modules`, by their name in the collection. */
const FOLDERS: Readonly<Record<string, string>> = {
  fastify: 'fastify/docs',
  pino: 'pino/docs',
  'undici/api': 'undici/docs/docs/api',
  'undici/best-practices': 'undici/docs/docs/best-practices'
}
/** Written by the benchmark itself. */
const LEFT_OUT = new Set(['docs/search-quality.md'])

/** Files of the collection: path to text. */
export type Collection = ReadonlyMap<string, string>

/** Copies the documents of this repository and of its dependencies into a folder. */
export function copyCollection(folder: string): Collection {
  const copy = (source: string, target: string): void => {
    mkdirSync(dirname(join(folder, target)), { recursive: true })
    cpSync(source, join(folder, target))
  }
  const tracked = execFileSync('git', ['ls-files', '*.md'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
  for (const path of tracked)
    if (
      /^(?:README\.md|docs\/.*|plugins\/[^/]+\/README\.md)$/.test(path) &&
      !LEFT_OUT.has(path) &&
      existsSync(join(ROOT, path))
    )
      copy(join(ROOT, path), `svc/${path}`)
  const modules = join(ROOT, 'node_modules')
  for (const name of README_PACKAGES) copy(join(modules, name, 'README.md'), `${name}/README.md`)
  copy(join(modules, 'undici/README.md'), 'undici/README.md')
  for (const [target, source] of Object.entries(FOLDERS))
    for (const path of markdown(join(modules, source))) copy(join(modules, source, path), `${target}/${path}`)
  return new Map(markdown(folder).map(path => [path, readFileSync(join(folder, path), 'utf8')]))
}

function markdown(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.md'))
    .map(path => path.replaceAll('\\', '/'))
    .sort()
}
