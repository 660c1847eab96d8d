// Libraries that the packages carry.
import { readdirSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const kernel = fileURLToPath(new URL('../kernel', import.meta.url))
const sdk = fileURLToPath(new URL('../plugin-sdk', import.meta.url))

// The SDK has no run-time dependency.
await build({
  entryPoints: [`${sdk}/src/check/vendor.cjs`],
  outfile: `${sdk}/dist/vendor/ajv.cjs`,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  legalComments: 'linked'
})

// Most of yargs' start goes into tables of emoji and scripts, for measuring texts; the kernel measures them more simply.
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

// Libraries of many files, in one each and what they share: a start pays for every file that it opens.
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
const { metafile } = await build({
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

// The process that reads manifests, in one file: it starts for a single answer and may read little else.
await build({
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
  }
})

// Parts that are shared are named by what they hold, and would pile up.
const written = new Set(['describe-child.js'])
for (const path of Object.keys(metafile.outputs)) written.add(basename(path))
for (const file of readdirSync(outdir)) if (!written.has(file)) rmSync(`${outdir}/${file}`)
