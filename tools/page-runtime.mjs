// Bundles the libraries of programs' pages, so that `svc dev` and `svc run` show pages without an install.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { build } from 'esbuild'
import { writeBundledPackages } from './bundled-packages.mjs'

/** CommonJS libraries, whose names esbuild does not export, and ES modules. */
const COMMONJS = ['react', 'react/jsx-runtime', 'react/jsx-dev-runtime', 'react-dom', 'react-dom/client']
const MODULES = ['@tanstack/react-query', '@tanstack/react-router', 'zod']

/**
 * Writes the libraries to `<web>/runtime`, once with the checks of React's development build and once without, and
 * `runtime/manifest.json` with the file of each module. `web`: folder of the plugin `web`, which declares their versions.
 */
export async function buildPageRuntime(web) {
  const outdir = `${web}/runtime`
  mkdirSync(outdir, { recursive: true })
  const [development, production] = await Promise.all([libraries(web, 'development'), libraries(web, 'production')])
  const client = await build({
    entryPoints: { dev: `${web}/page/dev-client.ts` },
    outdir,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    entryNames: '[name]-[hash]',
    metafile: true
  })
  writeBundledPackages(web, [development, production, client])
  const manifest = { development: development.modules, production: production.modules, client: entriesOf(client).dev }
  writeFileSync(`${outdir}/manifest.json`, `${JSON.stringify(manifest, null, 2)}\n`)
  const written = new Set([development, production, client].flatMap(({ metafile }) => Object.keys(metafile.outputs)))
  const kept = new Set(['manifest.json', ...[...written].map(path => basename(path))])
  for (const file of readdirSync(outdir)) if (!kept.has(file)) rmSync(`${outdir}/${file}`)
}

async function libraries(web, mode) {
  const names = [...COMMONJS, ...MODULES].filter(name => mode === 'development' || name !== 'react/jsx-dev-runtime')
  const require = createRequire(`${web}/package.json`)
  const stem = name => `${mode === 'development' ? 'dev-' : ''}${name.replace('@', '').replaceAll('/', '-')}`
  const { metafile } = await build({
    entryPoints: Object.fromEntries(names.map(name => [stem(name), `library:${name}`])),
    outdir: `${web}/runtime`,
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    define: { 'process.env.NODE_ENV': JSON.stringify(mode) },
    legalComments: 'linked',
    entryNames: '[name]-[hash]',
    chunkNames: `${mode === 'development' ? 'dev-' : ''}shared-[hash]`,
    plugins: [
      {
        name: 'libraries',
        setup({ onResolve, onLoad, resolve }) {
          // The repository has another version of React too, which the libraries in its folder would import.
          onResolve({ filter: /^react(-dom)?(\/.*)?$/ }, ({ path, kind, pluginData }) => {
            return pluginData === 'own' ? undefined : resolve(path, { kind, resolveDir: web, pluginData: 'own' })
          })
          onResolve({ filter: /^library:/ }, ({ path }) => ({ path: path.slice(8), namespace: 'library' }))
          onLoad({ filter: /./, namespace: 'library' }, ({ path }) => ({ contents: exportsOf(path), resolveDir: web }))
        }
      }
    ],
    metafile: true
  })

  function exportsOf(name) {
    if (MODULES.includes(name)) return `export * from '${name}'`
    const exported = Object.keys(require(name)).filter(key => key !== 'default')
    return `import library from '${name}'\nexport default library\nexport const { ${exported.join(', ')} } = library`
  }

  const files = entriesOf({ metafile })
  return { metafile, modules: Object.fromEntries(names.map(name => [name, files[stem(name)]])) }
}

/** Returns the file of each entry point, by its name. */
function entriesOf({ metafile }) {
  const entries = Object.entries(metafile.outputs).filter(([, { entryPoint }]) => entryPoint !== undefined)
  return Object.fromEntries(
    entries.map(([path]) => [basename(path).replace(/-[A-Z0-9]+\.(js|css)$/, ''), basename(path)])
  )
}
