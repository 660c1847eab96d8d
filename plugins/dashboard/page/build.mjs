// Builds the console's page: page-dist/ with index.html, hashed files, and each file compressed with gzip and Brotli.
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const folder = fileURLToPath(new URL('.', import.meta.url))
const target = join(folder, '..', 'page-dist')
const draft = `${target}.${process.pid}`

// A worker has its own file, whose name the page must know.
const worker = await build({
  entryPoints: { 'graph-worker': join(folder, 'src', 'views', 'graph-worker.ts') },
  outdir: draft,
  bundle: true,
  format: 'iife',
  target: 'es2022',
  minify: true,
  entryNames: '[name]-[hash]',
  metafile: true,
  write: false,
  legalComments: 'none',
  logLevel: 'warning'
})
const [workerFile] = worker.outputFiles

const { outputFiles, metafile } = await build({
  define: { GRAPH_WORKER: JSON.stringify(basename(workerFile.path)) },
  entryPoints: { main: join(folder, 'src', 'main.tsx'), page: join(folder, 'src', 'page.css') },
  outdir: draft,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'browser',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  metafile: true,
  write: false,
  legalComments: 'none',
  logLevel: 'warning'
})

await rm(draft, { recursive: true, force: true })
await mkdir(draft, { recursive: true })
const named = pattern => basename(outputFiles.find(file => pattern.test(basename(file.path))).path)
const html = (await readFile(join(folder, 'index.html'), 'utf8'))
  .replace('MAIN_JS', named(/^main-.*\.js$/))
  .replace('PAGE_CSS', named(/^page-.*\.css$/))
const files = [
  ...[...outputFiles, workerFile].map(file => [basename(file.path), file.contents]),
  ['index.html', Buffer.from(html)]
]
for (const [name, contents] of files) {
  const bytes = Buffer.from(contents)
  await writeFile(join(draft, name), bytes)
  await writeFile(join(draft, `${name}.gz`), gzipSync(bytes, { level: 9 }))
  const quality = { [constants.BROTLI_PARAM_QUALITY]: 11 }
  await writeFile(join(draft, `${name}.br`), brotliCompressSync(bytes, { params: quality }))
}
await writeFile(
  join(draft, 'meta.json'),
  JSON.stringify({ ...metafile, outputs: { ...metafile.outputs, ...worker.metafile.outputs } })
)
await rm(target, { recursive: true, force: true })
await rename(draft, target)
