import { basename, extname, join, resolve } from 'node:path'
import { PAGE_FILES, type PageBundle, type PageFile, type PageSources } from '@svc/contracts'
import type { BuildFailure, BuildOptions, BuildResult, Message } from 'esbuild'
import { webErrors } from './errors.ts'
import type { PageRuntime } from './page-runtime.ts'
import { existing, pageSources, textsInMemory } from './page-sources.ts'

/** URL path of the files of a bundle. */
const BASE = `${PAGE_FILES}pages/`

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2'
}

const FILES = Object.keys(TYPES).filter(ending => ending !== '.js' && ending !== '.css')

/** Bundles pages. Throws `WEB_BUNDLE_FAILED` and `WEB_RUNTIME_MISSING`. */
export async function bundlePages(sources: PageSources, runtime: PageRuntime): Promise<PageBundle> {
  const { folder, entry, files, isDevelopment } = sources
  const libraries = await runtime.libraries(isDevelopment)
  const texts = textsInMemory(sources)
  const base = existing(folder)
  const mode = isDevelopment ? 'development' : 'production'
  const { outputFiles, metafile } = await built({
    entryPoints: { main: `./${entry}` },
    absWorkingDir: base,
    outdir: join(folder, '.bundle'),
    publicPath: BASE,
    write: false,
    metafile: true,
    bundle: true,
    splitting: true,
    minify: !isDevelopment,
    sourcemap: isDevelopment ? 'inline' : false,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxDev: isDevelopment,
    // The user's tsconfig.json is for an editor.
    tsconfigRaw: {},
    define: {
      'process.env.NODE_ENV': JSON.stringify(mode),
      'import.meta.env': JSON.stringify({ MODE: mode, DEV: isDevelopment, PROD: !isDevelopment, BASE_URL: '/' })
    },
    loader: Object.fromEntries(FILES.map(ending => [ending, 'file'])),
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    legalComments: isDevelopment ? 'none' : 'eof',
    logLevel: 'silent',
    plugins: [pageSources(folder, texts, libraries)]
  })
  const entries = outputFiles.map(({ path, contents }): [string, PageFile] => {
    return [BASE + basename(path), { type: TYPES[extname(path)] ?? 'application/octet-stream', body: contents }]
  })
  const nameOf = (ending: string): string | null =>
    entries.map(([path]) => path).find(path => path.startsWith(`${BASE}main-`) && path.endsWith(ending)) ?? null
  // Other inputs have a namespace, such as `library:`, or are values of `define`.
  const inputs = Object.keys(metafile.inputs).filter(path => !/^(?:[a-z]+:|<define:)/.test(path))
  const paths = new Set(inputs.map(path => resolve(base, path)))
  // Scripts that modules refer to by URL, such as service workers.
  const workers = files.filter(({ path }) => path.endsWith('.js') && !paths.has(join(folder, path)))
  const workerType = TYPES['.js'] as string
  return {
    script: nameOf('.js') as string,
    styles: nameOf('.css'),
    inputs: [...paths].filter(path => !texts.has(path) && !/[\\/]node_modules[\\/]/.test(path)),
    files: new Map([
      ...entries,
      ...workers.map(({ path, text }): [string, PageFile] => {
        return [BASE + path, { type: workerType, body: Buffer.from(text) }]
      })
    ])
  }
}

interface InMemory extends BuildOptions {
  write: false
  metafile: true
}

async function built(options: InMemory): Promise<BuildResult<InMemory>> {
  const { build } = await import('esbuild')
  try {
    return await build(options)
  } catch (error) {
    const { errors } = error as Partial<BuildFailure>
    if (errors === undefined) throw error
    throw failure(errors, options.absWorkingDir as string)
  }
}

function failure(errors: readonly Message[], folder: string): Error {
  const texts = errors.map(each => messageText(each, folder))
  const [{ text = '', location = null } = {}] = errors
  const [, name = ''] = /^Could not resolve "([^."/@][^"/]*|@[^"/]+\/[^"/]+)/.exec(text) ?? []
  const hint =
    name === '' ? 'correct the module' : `install the package in the folder of the module: npm install ${name}`
  return webErrors.create('WEB_BUNDLE_FAILED', texts.join('\n\n'), {
    hint,
    ...(location === null
      ? {}
      : { at: { file: resolve(folder, location.file), line: location.line, column: location.column + 1 } })
  })
}

/** Returns an error with its place and an excerpt of the source. */
function messageText({ text, location }: Message, folder: string): string {
  if (location === null) return text
  const { file, line, column, lineText, length } = location
  const margin = ' '.repeat(String(line).length)
  return [
    `${resolve(folder, file)}:${line}:${column + 1}: ${text}`,
    `${margin} |`,
    `${line} | ${lineText}`,
    `${margin} | ${' '.repeat(column)}${'^'.repeat(Math.max(1, length))}`
  ].join('\n')
}
