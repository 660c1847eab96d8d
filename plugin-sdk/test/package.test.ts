import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const root = fileURLToPath(new URL('..', import.meta.url))

t.test('the package has no runtime dependencies', async t => {
  const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
  t.equal(manifest.dependencies, undefined)
  t.same(Object.keys(manifest.peerDependencies), ['@svc/kernel'])
  t.same(manifest.peerDependenciesMeta, { '@svc/kernel': { optional: true } }, 'only tests need the kernel')
})

t.test('the main entry imports no packages, and other entries import only modules of Node', async t => {
  const imported = (folder: string): string[] => {
    const files = readdirSync(`${root}/${folder}`).filter(file => file.endsWith('.ts'))
    const texts = files.map(file => readFileSync(`${root}/${folder}/${file}`, 'utf8'))
    // Type imports are removed by the compiler.
    const statements = texts.flatMap(text => [
      ...text.matchAll(/^(?:import|export) (?!type )[^'\n]*?from '([^']+)'/gms)
    ])
    return [
      ...new Set(statements.map(([, specifier = '']) => specifier).filter(specifier => !specifier.startsWith('.')))
    ]
  }
  t.same(imported('src'), [])
  for (const folder of ['src/check', 'src/node', 'src/testing']) {
    t.ok(
      imported(folder).every(specifier => specifier.startsWith('node:') || specifier.startsWith('#ajv')),
      imported(folder).join()
    )
  }
})
