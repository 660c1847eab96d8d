// Bundles third-party libraries and the program `svc` into few files, since every opened file slows down the start.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { writeBundledPackages } from './bundled-packages.mjs'
import { buildPageRuntime } from './page-runtime.mjs'

const kernel = fileURLToPath(new URL('../kernel', import.meta.url))
const sdk = fileURLToPath(new URL('../plugin-sdk', import.meta.url))
const config = fileURLToPath(new URL('../config', import.meta.url))

// ajv, since the SDK has no runtime dependencies.
const validator = await build({
  entryPoints: [`${sdk}/src/check/vendor.cjs`],
  outfile: `${sdk}/dist/vendor/ajv.cjs`,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  legalComments: 'linked',
  metafile: true
})
writeBundledPackages(sdk, [validator])

// Libraries of the configuration, each in one file that is loaded on first use.
const formats = await build({
  entryPoints: ['smol-toml', 'toml-eslint-parser', 'cosmiconfig'],
  outdir: `${config}/dist/vendor`,
  outExtension: { '.js': '.cjs' },
  absWorkingDir: config,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  legalComments: 'linked',
  // cosmiconfig needs TypeScript only for configuration in TypeScript, which svc does not use.
  external: ['typescript'],
  metafile: true
})
writeBundledPackages(config, [{ ...formats, folder: config }])

// React and other libraries of programs' pages.
await buildPageRuntime(fileURLToPath(new URL('../plugins/web', import.meta.url)))

// yargs spends most of its start on Unicode tables for measuring text. The kernel's own, simpler functions replace
// them.
const own = JSON.stringify(`${kernel}/dist/cli/text.js`)
const measures = {
  'string-width': `export { textWidth as default } from ${own}`,
  'strip-ansi': `export { withoutColour as default } from ${own}`,
  'wrap-ansi': `import { wrapText } from ${own}; export default (text, width) => wrapText(text, width).join('\\n')`
}
const measuring = {
  name: 'measuring',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(${Object.keys(measures).join('|')})$`) }, ({ path }) => ({
      path,
      namespace: 'measuring'
    }))
    onLoad({ filter: /./, namespace: 'measuring' }, ({ path }) => ({ contents: measures[path], resolveDir: kernel }))
  }
}

// Libraries of many files, bundled into one file each and a shared one.
const vendored = {
  tapable:
    "export { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook } from 'tapable'",
  yargs: "export { default } from 'yargs'"
}
const entries = {
  name: 'entries',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^vendored:/ }, ({ path }) => ({ path: path.slice('vendored:'.length), namespace: 'vendored' }))
    onLoad({ filter: /./, namespace: 'vendored' }, ({ path }) => ({ contents: vendored[path], resolveDir: kernel }))
  }
}
const outdir = `${kernel}/dist/vendor`
const libraries = await build({
  entryPoints: Object.fromEntries(Object.keys(vendored).map(name => [name, `vendored:${name}`])),
  outdir,
  bundle: true,
  splitting: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  legalComments: 'linked',
  plugins: [entries, measuring],
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);"
  },
  metafile: true
})

// The process that reads manifests, in one file: it often handles only one request, and its sandbox may read few files.
const describer = await build({
  entryPoints: [`${kernel}/dist/isolation/describe-child.js`],
  outfile: `${outdir}/describe-child.js`,
  bundle: true,
  minify: true,
  keepNames: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  legalComments: 'none',
  external: ['esbuild'],
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);"
  },
  metafile: true
})

removeOthers(outdir, ['describe-child.js', ...Object.keys(libraries.metafile.outputs)])

// The program `svc` in one file, which V8 compiles from a code cache (kernel/bin/program.cjs).
/** Packages to bundle: those of this repository, and those that every start needs. */
const BUNDLED = /^(#(yargs|tapable)|@svc\/(plugin-sdk|contracts|config)(\/.*)?|awilix\/browser)$/
const program = `${kernel}/dist/bundle`
const main = await build({
  entryPoints: { main: `${kernel}/dist/cli/main.js` },
  outdir: program,
  outExtension: { '.js': '.cjs' },
  bundle: true,
  minifySyntax: true,
  minifyWhitespace: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  legalComments: 'none',
  plugins: [originalUrls(program)],
  define: { 'import.meta.url': '__moduleUrl' },
  banner: { js: "const __bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
  metafile: true
})
removeOthers(program, Object.keys(main.metafile.outputs))
writeBundledPackages(kernel, [libraries, describer, main])

/**
 * Returns an esbuild plugin that bundles {@link BUNDLED} and keeps other packages external. In a bundled module,
 * `import.meta.url` is the URL of the original file. `import('package')` calls `svcImport` of kernel/bin/program.cjs,
 * since code from V8's cache cannot import.
 */
function originalUrls(directory) {
  return {
    name: 'original-urls',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
        if (kind === 'entry-point' || BUNDLED.test(path)) return undefined
        return { path, external: true }
      })
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        const contents = text.replace(/\bimport\('([@\w][\w/-]*)'\)/g, (imported, name) =>
          BUNDLED.test(name) ? imported : `svcImport('${name}')`
        )
        if (!text.includes('import.meta.url')) return { contents }
        const own = JSON.stringify(relative(directory, path))
        return { contents: `const __moduleUrl = new URL(${own}, __bundleUrl).href;${contents}` }
      })
    }
  }
}

// Removes files of earlier builds. Shared files are named by their content, code caches by V8's version.
function removeOthers(directory, paths) {
  const written = new Set(paths.map(path => basename(path)))
  for (const file of readdirSync(directory)) if (!written.has(file)) rmSync(`${directory}/${file}`)
}
