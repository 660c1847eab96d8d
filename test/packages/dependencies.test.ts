import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..', '..')

function sourcesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(
      path => /(?<!\.d)\.(ts|mjs)$/.test(path) && !/(^|[\\/])(node_modules|dist|fixtures|\.[^\\/]*)[\\/]/.test(path)
    )
    .map(path => join(folder, path))
}

/** Returns the folder of a file's package; `.` for the root package. */
function packageOf(file: string): string {
  const folder = dirname(file)
  return existsSync(join(ROOT, folder, 'package.json')) ? folder : packageOf(folder)
}

/** Returns the packages that a folder may import: its dependencies and itself. */
function declared(folder: string): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as Record<string, unknown>
  const fields = ['dependencies', 'peerDependencies', 'optionalDependencies', 'devDependencies']
  return [String(manifest.name), ...fields.flatMap(field => Object.keys((manifest[field] ?? {}) as object))]
}

t.test('imports are declared by the package of a file or, for tests and tools, by the repository', async t => {
  const { metafile } = await build({
    entryPoints: [
      'bench',
      'config',
      'contracts',
      'editors',
      'kernel',
      'plugin-sdk',
      'plugins',
      'test',
      'tools'
    ].flatMap(sourcesIn),
    absWorkingDir: ROOT,
    outdir: 'out',
    bundle: true,
    // Otherwise each file would be bundled with all its imports.
    splitting: true,
    packages: 'external',
    conditions: ['svc-source'],
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true
  })
  const shared = [...declared('.'), '@svc/plugin-sdk', '@svc/contracts', '@svc/config', '@svc/kernel']
  const plugins = readdirSync(join(ROOT, 'plugins')).map(name => `@svc/plugin-${name}`)
  const undeclared = Object.entries(metafile.inputs).flatMap(([file, { imports }]) => {
    const folder = packageOf(file)
    const own = declared(folder)
    const allowed = file.startsWith(join(folder, 'src/'))
      ? own
      : [...own, ...shared, ...(/(^|\/)test\//.test(file) ? plugins : [])]
    return (
      imports
        .filter(({ path, external }) => external === true && !isBuiltin(path) && !path.startsWith('#'))
        .map(({ path }) => path.split('/', path.startsWith('@') ? 2 : 1).join('/'))
        // A host such as an editor provides a module of which only the types are a dependency.
        .filter(name => !allowed.includes(name) && !allowed.includes(`@types/${name}`))
        .map(name => `${file}: ${name}`)
    )
  })
  t.same(undeclared, [])
})
