// Compiles the thread scripts: tests run from sources, threads from the build. Scripts whose sources have not changed
// since they were compiled are left, since every process of a test comes here.
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Files of a compiled script, and their sizes and times. */
interface Compiled {
  readonly files: readonly string[]
  readonly stamps: string
}

const root = join(import.meta.dirname, '..')
const cache = join(root, '../../node_modules/.cache/svc-bundles')
const scripts = { 'store-worker': 'src/worker/main.ts', 'thread-connection': 'src/thread/main.ts' }

for (const [name, source] of Object.entries(scripts)) {
  const record = join(cache, `${name}.json`)
  const kept = await readFile(record, 'utf8').then(
    text => JSON.parse(text) as Compiled,
    () => null
  )
  if (kept !== null && (await stampsOf(kept.files)) === kept.stamps) continue
  const file = join(root, 'dist', `${name}.cjs`)
  const inputs = await compile(join(root, source), file)
  const files = [file, ...inputs]
  await replace(record, JSON.stringify({ files, stamps: await stampsOf(files) } satisfies Compiled))
}

async function stampsOf(files: readonly string[]): Promise<string> {
  const stamp = (file: string): Promise<string> =>
    stat(file).then(
      ({ size, mtimeMs }) => `${size}:${mtimeMs}`,
      () => 'missing'
    )
  return (await Promise.all(files.map(stamp))).join(' ')
}

/** Compiles a script, and returns its sources. */
async function compile(source: string, file: string): Promise<readonly string[]> {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    entryPoints: [source],
    bundle: true,
    write: false,
    metafile: true,
    absWorkingDir: root,
    packages: 'external',
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    define: { 'import.meta.url': '__svc_url' },
    banner: { js: "const __svc_url = require('node:url').pathToFileURL(__filename).href;" }
  })
  const text = outputFiles[0]?.text ?? ''
  if ((await readFile(file, 'utf8').catch(() => null)) !== text) await replace(file, text)
  return Object.keys(metafile.inputs).map(input => join(root, input))
}

/** Writes a file and renames it, since several tests may write it concurrently. */
async function replace(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.${process.pid}`, text)
  await rename(`${file}.${process.pid}`, file)
}
