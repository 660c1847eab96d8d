import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { PAGE_FILES, type PageSources } from '@svc/contracts'
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

/** Namespace of libraries that are required as CommonJS modules. */
const LIBRARY = 'library'

/** Marks imports that are not in memory. */
const ON_DISK = Symbol('on disk')

/**
 * Returns an esbuild plugin that reads generated files from memory, and other files from disk. `texts`: see
 * {@link textsInMemory}. `libraries`: URL path of each prebuilt module, which is imported from there.
 */
export function pageSources(
  folder: string,
  texts: ReadonlyMap<string, string>,
  libraries: ReadonlyMap<string, string>
): Plugin {
  const inMemory = (path: string): string | undefined => ENDINGS.map(end => path + end).find(each => texts.has(each))
  return {
    name: 'page-sources',
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /./ }, async ({ path, resolveDir, importer, kind, pluginData }) => {
        if (pluginData === ON_DISK) return undefined
        const library = libraries.get(path)
        if (path.startsWith(PAGE_FILES)) return { path, external: true }
        // A CommonJS package gets a library through a module of the bundle: a browser has no `require`.
        if (library !== undefined && kind === 'require-call') return { path: library, namespace: LIBRARY }
        if (library !== undefined) return { path: library, external: true }
        // Styles refer to other files by URL.
        if (kind === 'url-token' && /^(?:data:|https?:|\/)/.test(path)) return { path, external: true }
        const isOfFolder = path.startsWith('@/')
        const isFile = isOfFolder || path.startsWith('.') || kind === 'entry-point'
        const base = isOfFolder ? join(folder, path.slice(2)) : join(kind === 'entry-point' ? folder : resolveDir, path)
        const found = isFile ? inMemory(base) : undefined
        if (found !== undefined) return { path: found }
        // The folder of a generated file may be missing, and esbuild resolves nothing from such a folder.
        const [name, from] = isFile ? [`./${basename(base)}`, dirname(base)] : [path, resolveDir]
        const onDisk = await resolve(name, { kind, importer, resolveDir: existing(from), pluginData: ON_DISK })
        return onDisk.errors.length === 0 ? onDisk : { errors: [{ text: `Could not resolve "${path}"` }] }
      })
      onLoad({ filter: /./, namespace: LIBRARY }, ({ path }) => {
        const from = JSON.stringify(path)
        const whole = "'default' in library ? library.default : library"
        return { contents: `import * as library from ${from}\nexport * from ${from}\nexport default ${whole}\n` }
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

/** Returns the texts of generated files by absolute path, without starter files that the user has on disk. */
export function textsInMemory({ folder, files, starters }: PageSources): ReadonlyMap<string, string> {
  const given = new Set(files.map(({ path }) => path))
  const missing = starters.filter(({ path }) => !given.has(path) && !existsSync(join(folder, path)))
  return new Map([...files, ...missing].map(({ path, text }) => [join(folder, path), text]))
}

/** Returns the folder, or its nearest existing parent. */
export function existing(folder: string): string {
  const parent = dirname(folder)
  return existsSync(folder) || parent === folder ? folder : existing(parent)
}
