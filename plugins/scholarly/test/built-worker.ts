// Compiles the thread of arXiv documents: tests run from sources, threads from the build.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const scripts = { 'arxiv-document': 'src/adapters/arxiv/document-worker-main.ts' }

for (const [name, source] of Object.entries(scripts)) {
  const file = join(root, 'dist', `${name}.cjs`)
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    absWorkingDir: root,
    conditions: ['svc-source'],
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    define: { 'import.meta.url': '__svc_url' },
    banner: { js: "const __svc_url = require('node:url').pathToFileURL(__filename).href;" }
  })
  const text = outputFiles[0]?.text ?? ''
  if ((await readFile(file, 'utf8').catch(() => null)) === text) continue
  await mkdir(dirname(file), { recursive: true })
  // Several tests may write it concurrently.
  await writeFile(`${file}.${process.pid}`, text)
  await rename(`${file}.${process.pid}`, file)
}
