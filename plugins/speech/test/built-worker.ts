// Builds the script of the thread: tests run from the sources, but threads need built code.
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const file = join(root, 'dist', 'whisper-worker.cjs')

const { outputFiles } = await build({
  entryPoints: [join(root, 'src/whisper/worker-main.ts')],
  bundle: true,
  write: false,
  packages: 'external',
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  conditions: ['svc-source'],
  // As in the build of the kernel: a CommonJS script has no import.meta.
  banner: { js: "const __svc_url = require('node:url').pathToFileURL(__filename).href;" },
  define: { 'import.meta.url': '__svc_url' },
  alias: {
    '@svc/contracts': join(root, '../../contracts/src/index.ts'),
    '@svc/plugin-sdk': join(root, '../../plugin-sdk/src/index.ts'),
    '@svc/plugin-sdk/folders': join(root, '../../plugin-sdk/src/node/folders.ts')
  }
})
const text = outputFiles[0]?.text ?? ''
if ((await readFile(file, 'utf8').catch(() => null)) !== text) {
  await mkdir(join(root, 'dist'), { recursive: true })
  // Several test files may build concurrently.
  await writeFile(`${file}.${process.pid}`, text)
  await rename(`${file}.${process.pid}`, file)
}
