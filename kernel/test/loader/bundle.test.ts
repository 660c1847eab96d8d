import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Bundler } from '#loader'
import { plainNode } from '../fixtures/loader/plain-node.ts'
import { folder, loadAndRun, packageJson, pluginSource, run, write } from '../fixtures/loader/plugin-folder.ts'

const request = (root: string, entries = {}) => ({ root, source: join(root, 'src/plugin.ts'), entries })

t.test('inlines relative imports, keeps packages external, and returns exactly its inputs', async t => {
  const root = folder(t, {
    'package.json': packageJson('a'),
    'src/plugin.ts': pluginSource(
      'a',
      'used(); void parse',
      "import { used } from './used.ts'\nimport { parse } from 'toml'"
    ),
    'src/used.ts': "import table from './table.json' with { type: 'json' }\nexport const used = () => table",
    'src/table.json': '{"answer": 42}',
    'src/unused.ts': 'export {}'
  })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  const { text, inputs } = await bundler.bundle(request(root))
  t.match(text, 'answer: 42')
  t.match(text, 'require("toml")')
  t.match(text, 'require("@svc/plugin-sdk")')
  t.same(
    [...inputs].sort(),
    ['src/plugin.ts', 'src/table.json', 'src/used.ts'].map(path => join(root, path))
  )
})

t.test('an entry includes the schema check with its validator', async t => {
  const root = folder(t, {
    'package.json': packageJson('a'),
    'src/plugin.ts': pluginSource('a', 'void 0'),
    'src/worker.ts': `import { t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
const check = schemaCheck(t.object({ at: t.string({ format: 'uuid' }) }))
console.log(JSON.stringify(check({ at: 'never' })))`
  })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  const { outputs } = await bundler.bundle(request(root, { worker: join(root, 'src/worker.ts') }))
  t.notMatch(outputs[0]?.text, /require\("@svc/)
  const ran = spawnSync(process.execPath, [outputs[0]?.path ?? ''], { encoding: 'utf8' })
  t.match(JSON.parse(ran.stdout), { ok: false, text: 'at must match format "uuid"' }, ran.stderr)
})

t.test('the next build contains edited files, even if builds overlap', async t => {
  const root = folder(t, { 'package.json': packageJson('a'), 'src/plugin.ts': 'export const version = "one"' })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  const first = bundler.bundle(request(root))
  write(root, { 'src/plugin.ts': 'export const version = "two"' })
  await first
  t.match((await bundler.bundle(request(root))).text, '"two"')
  const overlapping = bundler.bundle(request(root))
  write(root, { 'src/plugin.ts': 'export const version = "three"' })
  const [, last] = await Promise.all([overlapping, bundler.bundle(request(root))])
  t.match(last.text, '"three"')
  await bundler.forget(root)
  t.match((await bundler.bundle(request(root))).text, '"three"', 'the package can be built again after forget')
})

t.test('forget works during a build', async t => {
  const root = folder(t, { 'package.json': packageJson('a'), 'src/plugin.ts': 'export const version = "one"' })
  const bundler = new Bundler()
  await bundler.bundle(request(root))
  const [{ text }] = await Promise.all([bundler.bundle(request(root)), bundler.forget(root)])
  t.match(text, '"one"')
  await bundler.dispose()
})

t.test('a syntax error has file, line, column and an excerpt', async t => {
  const root = folder(t, {
    'package.json': packageJson('a'),
    'src/plugin.ts': "import './broken.ts'\nexport default 1",
    'src/broken.ts': 'const fine = 1\nconst broken = = 2\n'
  })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  await t.rejects(bundler.bundle(request(root)), {
    code: 'LDR_BUILD_FAILED',
    at: { file: join(root, 'src/broken.ts'), line: 2, column: 16 },
    message: /broken\.ts:2:16: .*\n2 \| const broken = = 2\n {19}\^$/
  })
  write(root, { 'src/broken.ts': 'const fine = 1\n' })
  t.ok((await bundler.bundle(request(root))).text, 'the next build succeeds')
})

t.test('the error for a missing relative import has the position of the import', async t => {
  const root = folder(t, { 'package.json': packageJson('a'), 'src/plugin.ts': "\nimport './gone.ts'" })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  await t.rejects(bundler.bundle(request(root)), { code: 'LDR_BUILD_FAILED', at: { line: 2 }, message: /gone\.ts/ })
})

t.test('top-level await has its own error', async t => {
  const root = folder(t, { 'package.json': packageJson('a'), 'src/plugin.ts': 'const x = 1\nawait x\nexport {}' })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  await t.rejects(bundler.bundle(request(root)), {
    code: 'LDR_TOP_LEVEL_AWAIT',
    at: { file: join(root, 'src/plugin.ts'), line: 2 },
    hint: /activate/
  })
})

t.test('imports of packages behave as in Node for all kinds of packages', async t => {
  const head = `
import commonJs, { named } from 'common'
import withDefault, { other } from 'esm-only'
import importOnly, * as everything from 'import-only'
import * as inside from '#inside'
`
  const body = `return Promise.all([import('waits'), import('common'), import('./relative.ts')]).then(([waits, lazy, relative]) => ({
    commonJs: commonJs(), named, withDefault: withDefault(), other, importOnly, everything: everything.also, inside: inside.here,
    waits: waits.default, lazy: lazy.default(), relative: relative.value
  }))`
  const esm = (name: string, exports: object) => ({ name, version: '1.0.0', type: 'module', exports })
  const files = {
    'package.json': packageJson('sample', { imports: { '#inside': './src/inside.ts' } }),
    'src/relative.ts': 'export const value = 7',
    'src/inside.ts': 'export const here = true',
    'node_modules/common/package.json': { name: 'common', version: '1.0.0', main: './index.js' },
    'node_modules/common/index.js': 'module.exports = () => "called"; module.exports.named = 1',
    'node_modules/esm-only/package.json': esm('esm-only', { '.': { default: './index.js' } }),
    'node_modules/esm-only/index.js': 'export default () => "default"; export const other = 2',
    'node_modules/import-only/package.json': esm('import-only', { '.': { import: './index.js' } }),
    'node_modules/import-only/index.js': 'export default "imported"; export const also = 3',
    'node_modules/waits/package.json': esm('waits', { '.': { import: './index.js' } }),
    'node_modules/waits/index.js': 'export default await Promise.resolve("waited")'
  }
  const root = folder(t, { ...files, 'src/plugin.ts': pluginSource('sample', body, head) })
  t.same(await plainNode('activate.ts', [root]), {
    commonJs: 'called',
    named: 1,
    withDefault: 'default',
    other: 2,
    importOnly: 'imported',
    everything: 3,
    inside: true,
    waits: 'waited',
    lazy: 'called',
    relative: 7
  })
})

t.test('import.meta refers to the compiled file, for sources and builds', async t => {
  const body = 'return [import.meta.url, import.meta.dirname, import.meta.filename]'
  const { root, result } = await loadAndRun(t, body)
  t.equal(result[0], pathToFileURL(join(root, 'dist/plugin.cjs')).href)
  t.same(result.slice(1), [join(root, 'dist'), join(root, 'dist/plugin.cjs')])
})

t.test('an entry becomes a file for a worker that includes the SDK', async t => {
  const root = folder(t, {
    'package.json': packageJson('sample'),
    'src/plugin.ts': pluginSource(
      'sample',
      "const worker = new Worker(new URL('./worker.cjs', import.meta.url))\nreturn once(worker, 'message')",
      "import { Worker } from 'node:worker_threads'\nimport { once } from 'node:events'"
    ),
    'src/worker.ts': `import { parentPort } from 'node:worker_threads'
import { SDK_VERSION } from '@svc/plugin-sdk'
import { word } from './word.ts'
parentPort?.postMessage([word, SDK_VERSION, import.meta.url])`,
    'src/word.ts': "export const word = 'hello'"
  })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  const { inputs, outputs } = await bundler.bundle(request(root, { worker: join(root, 'src/worker.ts') }))
  t.ok(inputs.includes(join(root, 'src/word.ts')))
  t.same(
    outputs.map(each => each.path),
    [join(root, 'dist/worker.cjs')]
  )
  t.equal(readFileSync(join(root, 'dist/worker.cjs'), 'utf8'), outputs[0]?.text)
  t.notOk(existsSync(join(root, 'dist/plugin.cjs')), 'the plugin itself is not written')
  const { plugin } = await run(t, root, bundler)
  const [[word, version, url]] = (await plugin.activate({})) as [[string, number, string]]
  t.same([word, version], ['hello', 1])
  t.match(url, /dist\/worker\.cjs$/)
})

t.test('import.meta.url and dynamic import work in built code that is loaded with require', async t => {
  const root = folder(t, {
    'package.json': packageJson('a'),
    'src/plugin.ts': pluginSource(
      'a',
      '',
      "export const here = import.meta.url\nexport const os = () => import('node:os')"
    ).replace('export default', 'export const plugin =')
  })
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  const { text } = await bundler.bundle(request(root))
  write(root, {
    'dist/package.json': '{}',
    'dist/plugin.cjs': text.replace('require("@svc/plugin-sdk")', '({ definePlugin: given => given })')
  })
  const loaded = createRequire(import.meta.url)(join(root, 'dist/plugin.cjs')) as {
    here: string
    os(): Promise<object>
  }
  t.equal(loaded.here, pathToFileURL(join(root, 'dist/plugin.cjs')).href)
  t.ok('hostname' in (await loaded.os()))
})
