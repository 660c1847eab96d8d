// Bundles the script of a child process with all sources of this repository that it imports. A child of a test imports
// up to 700 sources, which take more than a second when each is loaded separately. The bundle is cached in node_modules
// and built again if one of its sources has changed.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { compiled } from './typescript-hooks.mjs'

const cache = fileURLToPath(new URL('../node_modules/.cache/svc-bundles', import.meta.url))
let entry = ''

export function initialize(data) {
  entry = data.entry
}

export async function load(url, context, nextLoad) {
  if (!url.startsWith('file:') || !/\.ts(?:\?|$)/.test(url)) return nextLoad(url, context)
  const file = fileURLToPath(url)
  const source = file === entry ? await bundled(file) : await compiled(file, await readFile(file, 'utf8'))
  return { format: 'module', source, shortCircuit: true }
}

async function bundled(file) {
  const name = createHash('sha256').update(file).digest('hex').slice(0, 32)
  const path = join(cache, `${name}.json`)
  const kept = await readFile(path, 'utf8').then(JSON.parse, () => null)
  if (kept !== null && (await stampsOf(kept.files)) === kept.stamps) return kept.code
  const { code, files } = await bundle(file)
  await mkdir(cache, { recursive: true })
  // Renamed into place, since several processes may write the file concurrently.
  await writeFile(`${path}.${process.pid}`, JSON.stringify({ files, stamps: await stampsOf(files), code }))
  await rename(`${path}.${process.pid}`, path)
  return code
}

/** Returns the sizes and times of files in one text. */
async function stampsOf(files) {
  const stamp = file =>
    stat(file).then(
      ({ size, mtimeMs }) => `${size}:${mtimeMs}`,
      () => 'missing'
    )
  return (await Promise.all(files.map(stamp))).join(' ')
}

async function bundle(file) {
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    conditions: ['svc-source'],
    keepNames: true,
    absWorkingDir: '/',
    logLevel: 'silent',
    plugins: [{ name: 'sources', setup: bundleSources }]
  })
  const files = Object.keys(metafile.inputs).map(input => join('/', input))
  const manifests = new Set(files.map(manifestOf))
  return { code: outputFiles[0].text, files: [...files, ...manifests] }
}

/** Bundles sources of this repository only; packages are imported from their files. */
function bundleSources(build) {
  build.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...request }) => {
    if (pluginData === 'resolved' || path.startsWith('node:')) return undefined
    const { importer, resolveDir, kind } = request
    const found = await build.resolve(path, { importer, resolveDir, kind, pluginData: 'resolved' })
    if (found.errors.length > 0 || found.external) return { path, external: true }
    if (!found.path.includes('/node_modules/')) return { path: found.path }
    return { path: kind === 'require-call' ? found.path : pathToFileURL(found.path).href, external: true }
  })
  build.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
    const text = await readFile(path, 'utf8')
    // The testing kit hides its import of the kernel from bundlers of its users.
    const contents = text.replace(/(const specifier = ('@svc\/[\w/-]+')[\s\S]*?import\()specifier\)/, '$1$2)')
    if (!contents.includes('import.meta.')) return { contents, loader: 'ts' }
    const define = {
      'import.meta.url': JSON.stringify(pathToFileURL(path).href),
      'import.meta.dirname': JSON.stringify(dirname(path)),
      'import.meta.filename': JSON.stringify(path)
    }
    const { transform } = await import('esbuild')
    const { code } = await transform(contents, { loader: 'ts', format: 'esm', target: 'node20.19', define })
    return { contents: code, loader: 'js' }
  })
}

/** Returns the path of the package.json of a source. */
function manifestOf(file) {
  let folder = dirname(file)
  while (folder !== dirname(folder) && !existsSync(join(folder, 'package.json'))) folder = dirname(folder)
  return join(folder, 'package.json')
}
