import { resolve } from 'node:path'
import { defined, isSvcError, SvcError } from '@svc/plugin-sdk'
import type { BuildOptions, BuildResult } from 'esbuild'
import { loaderErrors } from './errors.ts'

/** Limit of a page module. The host keeps loaded modules in memory, and computes a hash of each in one turn. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024

/** Page module to compile. Paths are absolute. */
export interface PageRequest {
  /** Package folder. */
  readonly root: string
  readonly name: string
  readonly source: string
  /** True to include a source map. */
  readonly debug: boolean
}

export interface BundledPage {
  readonly text: string
  /** Absolute paths of all compiled files. */
  readonly inputs: readonly string[]
}

/** Files that a page can import, next to code: styles and drawings as texts, pictures as `data:` URLs. */
const LOADERS: NonNullable<BuildOptions['loader']> = {
  '.css': 'text',
  '.svg': 'text',
  '.md': 'text',
  '.png': 'dataurl',
  '.jpg': 'dataurl',
  '.webp': 'dataurl'
}

/** Returns the options for one file that runs in a browser without any other: a frame has no origin to load from. */
export function pageOptions({ root, name, source, debug }: PageRequest, conditions: readonly string[]): BuildOptions {
  return {
    entryPoints: [source],
    outfile: resolve(root, 'dist', 'page', `${name}.js`),
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    packages: 'bundle',
    conditions: ['module', ...conditions],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // A tsconfig.json is for editors. A file can choose another library with a comment.
    tsconfigRaw: {},
    loader: LOADERS,
    minify: true,
    define: { 'process.env.NODE_ENV': '"production"' },
    sourcemap: debug ? 'inline' : false,
    sourcesContent: true
  }
}

/** Returns the compiled module. Throws `LDR_BUILD_FAILED` if it imports URLs, exports no `mount` or is too large. */
export function pageOf(request: PageRequest, result: BuildResult): BundledPage {
  const { root, source } = request
  const { inputs, outputs } = result.metafile ?? { inputs: {}, outputs: {} }
  for (const [file, { imports }] of Object.entries(inputs)) {
    const outside = imports.find(each => each.external === true)
    if (outside !== undefined)
      throw loaderErrors.create('LDR_BUILD_FAILED', `${resolve(root, file)} imports ${outside.path}`, {
        at: { file: resolve(root, file) },
        hint: 'a page module cannot load code from elsewhere: install the package and import it by name'
      })
  }
  const [output] = Object.values(outputs)
  if (output?.exports.includes('mount') !== true)
    throw loaderErrors.create('LDR_BUILD_FAILED', `${source} exports no mount function`, {
      at: { file: source },
      hint: 'write: export function mount(root, api) { … }'
    })
  const text = result.outputFiles?.[0]?.text ?? ''
  assertPageSize(source, Buffer.byteLength(text))
  return { text, inputs: Object.keys(inputs).map(path => resolve(root, path)) }
}

/** Throws `LDR_BUILD_FAILED` if a page module is too large. */
export function assertPageSize(file: string, bytes: number): void {
  if (bytes <= MAX_PAGE_BYTES) return
  throw loaderErrors.create('LDR_BUILD_FAILED', `${file}: the page module has ${bytes} bytes`, {
    at: { file },
    hint: `the limit is ${MAX_PAGE_BYTES} bytes; load data with an operation instead of importing it`
  })
}

/** Adds the name of the page to an error. */
export function pageError(page: string, error: unknown): unknown {
  if (!isSvcError(error)) return error
  const { code, message, status, hint, at, data, plugin, cause } = error
  return new SvcError(code, `page ${page}: ${message}`, { status, ...defined({ plugin, hint, at, data, cause }) })
}
