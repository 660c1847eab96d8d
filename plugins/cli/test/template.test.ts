import { readFileSync } from 'node:fs'
import t from 'tap'
import { templateFiles } from '#root'

t.test('names and exposures of a new package are derived from its name', async t => {
  const files = templateFiles('my-plugin', name => (name === '@svc/kernel' ? '^0.1.0' : '^1.0.0'))
  t.same(
    [...files.keys()],
    ['package.json', 'tsconfig.json', 'src/plugin.ts', 'test/plugin.test.mjs', 'README.md', '.gitignore']
  )
  const manifest = JSON.parse(files.get('package.json') ?? '')
  t.match(manifest, {
    name: 'svc-plugin-my-plugin',
    svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' },
    devDependencies: { '@svc/kernel': '^0.1.0', '@svc/plugin-sdk': '^1.0.0' },
    files: ['dist', 'assets', 'README.md']
  })
  t.equal(manifest.dependencies, undefined)
  t.match(files.get('src/plugin.ts'), /export const myPluginGreet = [\s\S]*id: 'my-plugin\.greet'/)
  t.doesNotThrow(() => JSON.parse(files.get('tsconfig.json') ?? ''))
  for (const [path, text] of files) t.ok(text.endsWith('\n'), `${path} ends with a line break`)
})

t.test('a new package uses the same tool versions as this project', async t => {
  const { devDependencies: ours } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  const { devDependencies } = JSON.parse(templateFiles('x', () => '^1.0.0').get('package.json') ?? '')
  for (const name of ['typescript', '@types/node']) t.equal(devDependencies[name], `^${ours[name]}`)
})

t.test('a new package with pages declares them, and the contracts that they need', async t => {
  const files = templateFiles('my-plugin', name => (name === '@svc/plugin-sdk' ? '^1.0.0' : '^0.1.0'), true)
  t.same(
    [...files.keys()],
    [
      'package.json',
      'tsconfig.json',
      'src/plugin.ts',
      'page/greet.ts',
      'test/plugin.test.mjs',
      'README.md',
      '.gitignore'
    ]
  )
  t.match(JSON.parse(files.get('package.json') ?? ''), {
    svc: { pages: { greet: './page/greet.ts' } },
    peerDependencies: { '@svc/contracts': '^0.1.0' },
    peerDependenciesMeta: { '@svc/contracts': { optional: true } },
    devDependencies: { '@svc/contracts': '^0.1.0' }
  })
  for (const [path, text] of files) t.ok(text.endsWith('\n'), `${path} ends with a line break`)
})
