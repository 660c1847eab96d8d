import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PageSource, PageSources } from '@svc/contracts'
import type { Loader, Plugin } from 'esbuild'

/** Endings that an import may omit, in order of preference. */
const ENDINGS = ['', '.tsx', '.ts', '.jsx', '.js', '.css', '.json', '/index.tsx', '/index.ts']

const LOADERS: Readonly<Record<string, Loader>> = {
  tsx: 'tsx',
  ts: 'ts',
  jsx: 'jsx',
  js: 'js',
  css: 'css',
  json: 'json'
}

/**
 * Returns an esbuild plugin that reads generated files from memory, and other files from disk. `libraries`: URL path of
 * each prebuilt module, which is imported from there.
 */
export function pageSources(sources: PageSources, libraries: ReadonlyMap<string, string>): Plugin {
  const { folder } = sources
  const texts = new Map(generated(sources).map(({ path, text }) => [join(folder, path), text]))
  const inMemory = (path: string): string | undefined => ENDINGS.map(end => path + end).find(each => texts.has(each))
  return {
    name: 'page-sources',
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /./ }, async ({ path, resolveDir, importer, kind }) => {
        const library = libraries.get(path)
        if (library !== undefined) return { path: library, external: true }
        // Scripts refer to other files of the bundle by URL.
        if (kind === 'url-token' && /^(?:data:|https?:|\/)/.test(path)) return { path, external: true }
        const from = importer === '' || resolveDir === '' ? folder : resolveDir
        const isOfFolder = path.startsWith('@/')
        if (!isOfFolder && !path.startsWith('.') && kind !== 'entry-point') return undefined
        const base = isOfFolder ? join(folder, path.slice(2)) : join(from, path)
        const found = inMemory(base)
        if (found !== undefined) return { path: found }
        return isOfFolder ? await resolve(base, { kind, resolveDir: folder, importer }) : undefined
      })
      onLoad({ filter: /./ }, ({ path }) => {
        const contents = texts.get(path)
        if (contents === undefined) return undefined
        const loader = LOADERS[path.slice(path.lastIndexOf('.') + 1)] ?? 'text'
        return { contents, loader, resolveDir: dirname(path) }
      })
    }
  }
}

/** Returns the files that are read from memory: the starter files of the user are read from disk. */
function generated({ folder, files, starters }: PageSources): PageSource[] {
  const given = new Set(files.map(({ path }) => path))
  const missing = starters.filter(({ path }) => !given.has(path) && !existsSync(join(folder, path)))
  return [...files, ...missing]
}
