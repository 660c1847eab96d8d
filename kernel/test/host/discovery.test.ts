import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { type Discovered, Discovery, type DiscoveryOptions } from '#host'
import { buildPlugin } from '#loader'
import { type Files, folder, packageJson, pluginSource, recorder, write } from '../fixtures/loader/plugin-folder.ts'

/** Returns the files of a plugin package below a folder. */
function plugin(at: string, name: string, source = pluginSource(name), more: object = {}): Files {
  return { [`${at}/package.json`]: packageJson(name, more), [`${at}/src/plugin.ts`]: source }
}

function discovery(t: Test, root: string, options: Partial<DiscoveryOptions> = {}): Discovery {
  const made = new Discovery({
    installRoot: join(root, 'install'),
    projectRoot: join(root, 'project'),
    cacheDirectory: join(root, 'cache'),
    prefer: 'source',
    ...options
  })
  t.teardown(() => made.close())
  return made
}

const names = (found: Discovered): string[] => found.sources.map(each => each.name).sort()
const source = (found: Discovered, name: string) => found.sources.find(each => each.name === name)!

/** Makes files older than the resolution of file times, within which a change could be missed. */
function settle(root: string, ...paths: string[]): void {
  for (const path of paths) utimesSync(join(root, path), 1_000_000, 1_000_000)
}

t.test(
  'finds plugins of the installation, installed packages, plugins of the project and configured folders',
  async t => {
    const dependency = {
      name: 'thing',
      version: '1.0.0',
      svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
    }
    const root = folder(t, {
      ...plugin('install/plugins/http', 'http'),
      'project/package.json': { dependencies: { thing: '1', plain: '1' } },
      'project/node_modules/thing/package.json': dependency,
      'project/node_modules/thing/src/plugin.ts': pluginSource('from-dependency'),
      'project/node_modules/plain/package.json': { name: 'plain', version: '1.0.0' },
      ...plugin('project/node_modules/svc-plugin-unscoped', 'unscoped'),
      ...plugin('project/node_modules/@svc/plugin-own', 'own'),
      ...plugin('project/node_modules/@other/svc-plugin-scoped', 'scoped'),
      'project/node_modules/@svc/plugin-sdk/package.json': { name: '@svc/plugin-sdk', version: '1.0.0' },
      'project/node_modules/unlisted/package.json': { ...dependency, name: 'unlisted' },
      ...plugin('extra/one', 'one'),
      ...plugin('extra/.hidden', 'hidden'),
      'extra/notes.txt': 'x',
      ...plugin('single', 'single'),
      ...plugin('project/plugins/mine', 'mine'),
      'project/plugins/other-tool/package.json': { name: 'other-tool', version: '1.0.0' }
    })
    const found = await discovery(t, root).discover([join(root, 'extra'), join(root, 'single')])
    t.same(found.problems, [])
    t.same(names(found), ['from-dependency', 'http', 'mine', 'one', 'own', 'scoped', 'single', 'unscoped'])
    t.same(
      found.directories,
      ['install/plugins', 'project/plugins', 'extra'].map(each => join(root, each))
    )
    t.ok(found.files.includes(join(root, 'project/plugins/other-tool/package.json')), 'the folder may become a plugin')
    t.ok(found.files.includes(join(root, 'single/src/plugin.ts')))
    t.ok(found.files.includes(join(root, 'single/package.json')))
    const http = source(found, 'http')
    t.match(http, { version: '1.0.0', location: join(root, 'install/plugins/http'), problem: null })
    t.match(http.manifest, { name: 'http', version: '1.0.0', sdk: 1 })
  }
)

t.test('a package that is found twice is listed once', async t => {
  const root = folder(t, { ...plugin('install/plugins/http', 'http'), 'install/node_modules/@svc/x': '' })
  symlinkSync(join(root, 'install/plugins/http'), join(root, 'install/node_modules/@svc/plugin-http'))
  const found = await discovery(t, root).discover([join(root, 'install/plugins')])
  t.same(names(found), ['http'])
  t.same(found.problems, [])
})

t.test('of two plugins with one name the first is used, and both locations are reported', async t => {
  const root = folder(t, { ...plugin('install/plugins/http', 'http'), ...plugin('extra/copy', 'http') })
  const found = await discovery(t, root).discover([join(root, 'extra')])
  t.same(
    found.sources.map(each => each.location),
    [join(root, 'install/plugins/http')]
  )
  t.match(found.problems, [{ location: join(root, 'extra/copy'), error: { code: 'LDR_NAME_TAKEN', plugin: 'http' } }])
  const error = found.problems[0]!.error
  t.match(error.message, join(root, 'install/plugins/http'))
  t.match(error.message, join(root, 'extra/copy'))
})

t.test('a broken package is listed with its problem and does not affect others', async t => {
  const built = { svc: { plugin: './dist/plugin.cjs' } }
  const root = folder(t, {
    ...plugin('all/good', 'good'),
    'all/no-package/readme.txt': 'x',
    'all/bad-json/package.json': '{ "name": ',
    'all/null-json/package.json': 'null',
    'all/no-section/package.json': { name: 'no-section', version: '1.0.0' },
    'all/no-version/package.json': { name: 'no-version', ...built },
    'all/no-path/package.json': { name: 'no-path', version: '1.0.0', svc: {} },
    'all/no-file/package.json': { name: 'no-file', version: '1.0.0', ...built },
    'all/outside/package.json': { name: 'outside', version: '1.0.0', svc: { plugin: '../good/src/plugin.ts' } },
    'all/bad-entries/package.json': packageJson('bad-entries', {
      svc: { plugin: './p.cjs', entries: { plugin: './x.ts' } }
    }),
    'all/no-manifest/package.json': { name: 'no-manifest', version: '1.0.0', ...built },
    'all/no-manifest/dist/plugin.cjs': 'throw new Error("was run")',
    'all/bad-manifest/package.json': { name: 'bad-manifest', version: '1.0.0', ...built },
    'all/bad-manifest/dist/plugin.cjs': '',
    'all/bad-manifest/dist/plugin.json': '{ "manifest": 1, "name": "UPPER" }',
    'all/cut-manifest/package.json': { name: 'cut-manifest', version: '1.0.0', ...built },
    'all/cut-manifest/dist/plugin.cjs': '',
    'all/cut-manifest/dist/plugin.json': '{ "manifest": 1, "na',
    ...plugin('all/syntax', 'syntax', 'export default ='),
    ...plugin('all/throws', 'throws', 'throw new Error("in the body")'),
    ...plugin('all/other-thing', 'other-thing', 'export const x = 1'),
    ...plugin('all/locked-dist', 'locked-dist', pluginSource('locked-dist'), {
      svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts', entries: { worker: './src/plugin.ts' } }
    }),
    'all/locked-dist/dist': 'a file where a folder has to be',
    ...plugin('all/bad-import', 'bad-import', pluginSource('bad-import', '', "import 'throws'")),
    'all/bad-import/node_modules/throws/package.json': {
      name: 'throws',
      type: 'module',
      exports: { import: './x.js' }
    },
    'all/bad-import/node_modules/throws/x.js': "throw new Error('in the package')",
    'elsewhere.ts': 'export default 1'
  })
  mkdirSync(join(root, 'all/linked'))
  write(root, {
    'all/linked/package.json': packageJson('linked', { svc: { plugin: './dist/plugin.cjs', source: './plugin.ts' } })
  })
  symlinkSync(join(root, 'elsewhere.ts'), join(root, 'all/linked/plugin.ts'))
  const found = await discovery(t, root).discover([join(root, 'all'), join(root, 'gone')])
  const problems = Object.fromEntries(found.sources.map(each => [each.name, each.problem?.code ?? null]))
  t.same(problems, {
    good: null,
    'no-package': 'LDR_PACKAGE_INVALID',
    'bad-json': 'LDR_PACKAGE_INVALID',
    'null-json': 'LDR_NOT_A_PLUGIN',
    'no-section': 'LDR_NOT_A_PLUGIN',
    'locked-dist': 'LDR_BUILD_FAILED',
    'bad-import': 'LDR_BUILD_FAILED',
    'no-version': 'LDR_PACKAGE_INVALID',
    'no-path': 'LDR_PACKAGE_INVALID',
    'no-file': 'LDR_ENTRY_INVALID',
    outside: 'LDR_ENTRY_INVALID',
    linked: 'LDR_ENTRY_INVALID',
    'bad-entries': 'LDR_PACKAGE_INVALID',
    'no-manifest': 'LDR_ENTRY_INVALID',
    'bad-manifest': 'LDR_MANIFEST_INVALID',
    'cut-manifest': 'LDR_MANIFEST_INVALID',
    syntax: 'LDR_BUILD_FAILED',
    throws: 'LDR_EVALUATE_FAILED',
    'other-thing': 'LDR_NOT_A_PLUGIN'
  })
  for (const each of found.sources)
    if (each.problem !== null) t.ok(each.problem.message.includes(root), each.problem.message)
  t.match(found.problems, [
    { location: join(root, 'gone'), error: { code: 'LDR_DIRECTORY_UNREADABLE', hint: /plugin_directories/ } }
  ])
  await t.rejects(source(found, 'no-package').prepare(), { code: 'LDR_PACKAGE_INVALID' })
  for (const path of ['all/no-package/package.json', 'all/syntax/src/plugin.ts', 'all/no-file/package.json']) {
    t.ok(found.files.includes(join(root, path)), `${path} is watched`)
  }
})

t.test('the error for another major version of the SDK says whether to update the plugin or svc', async t => {
  const of = (name: string, sdk: number) => ({
    ...plugin(`all/${name}`, name, `export default { kind: 'plugin', name: '${name}', sdk: ${sdk}, activate() {} }`)
  })
  const root = folder(t, { ...of('older', 0), ...of('newer', 2) })
  const found = await discovery(t, root).discover([join(root, 'all')])
  t.match(source(found, 'older').problem, { code: 'LDR_SDK_MISMATCH', hint: 'update the plugin' })
  t.match(source(found, 'newer').problem, {
    code: 'LDR_SDK_MISMATCH',
    hint: 'update svc',
    message: /version 2.*version 1/
  })
})

t.test(
  'a second discovery returns the same objects for unchanged plugins, new ones for changed, none for removed',
  async t => {
    const root = folder(t, {
      ...plugin('all/stays', 'stays'),
      ...plugin('all/moves', 'moves'),
      ...plugin('all/goes', 'goes')
    })
    const made = discovery(t, root)
    const directories = [join(root, 'all')]
    const first = await made.discover(directories)
    write(root, {
      ...plugin('all/comes', 'comes'),
      'all/moves/package.json': packageJson('moves', { version: '1.1.0' })
    })
    rmSync(join(root, 'all/goes'), { recursive: true })
    const second = await made.discover(directories)
    t.same(names(second), ['comes', 'moves', 'stays'])
    t.equal(source(second, 'stays'), source(first, 'stays'))
    t.not(source(second, 'moves'), source(first, 'moves'))
    t.equal(source(second, 'moves').manifest?.version, '1.1.0')
  }
)

t.test('a valid plugin keeps its manifest after a syntax error', async t => {
  const root = folder(t, plugin('all/one', 'one'))
  const made = discovery(t, root)
  const directories = [join(root, 'all')]
  const first = await made.discover(directories)
  const one = source(first, 'one')
  write(root, {
    'all/one/src/plugin.ts': `import './broken.ts'\n${pluginSource('one')}`,
    'all/one/src/broken.ts': 'const = 1'
  })
  const second = await made.discover(directories)
  t.equal(source(second, 'one'), one)
  t.equal(one.problem, null)
  t.match(one.manifest, { name: 'one' })
  t.ok(second.files.includes(join(root, 'all/one/src/broken.ts')), 'the file with the typo is watched')
  await t.rejects(one.prepare(), { code: 'LDR_BUILD_FAILED', at: { file: join(root, 'all/one/src/broken.ts') } })
  write(root, { 'all/one/package.json': '{ "na' })
  const third = await made.discover(directories)
  t.equal(source(third, 'one'), one)
  t.match(third.problems, [{ location: join(root, 'all/one'), error: { code: 'LDR_PACKAGE_INVALID' } }])
})

t.test('rediscover reads new code and updates the watched files, but does not search for packages', async t => {
  const root = folder(t, plugin('all/one', 'one'))
  const finder = discovery(t, root)
  const before = await finder.discover([join(root, 'all'), join(root, 'missing')])
  t.match(before.problems, [{ error: { code: 'LDR_DIRECTORY_UNREADABLE' } }])
  write(root, { ...plugin('all/two', 'two'), 'all/one/src/plugin.ts': pluginSource('uno', '', "import './more.ts'") })
  write(root, { 'all/one/src/more.ts': '' })
  const again = await finder.rediscover(new Set([join(root, 'all/one/src/plugin.ts')]))
  t.same(names(again), ['uno'])
  t.same(again.problems, before.problems)
  t.ok(again.files.includes(join(root, 'all/one/src/more.ts')))
  t.same(names(await finder.discover([join(root, 'all')])).sort(), ['two', 'uno'])
})

t.test('rediscover describes only changed and failed plugins', async t => {
  const printing = (name: string, revision: number): string =>
    pluginSource(name, '', `console.log('${name} ${revision}')`)
  const root = folder(t, {
    ...plugin('all/one', 'one', printing('one', 1)),
    ...plugin('all/two', 'two', printing('two', 1))
  })
  const finder = discovery(t, root)
  const lines = (found: Discovered): string[] => found.output.map(({ line }) => line).sort()
  const first = await finder.discover([join(root, 'all')])
  t.same(lines(first), ['one 1', 'two 1'])
  const save = (name: string, text: string): Promise<Discovered> => {
    write(root, { [`all/${name}/src/plugin.ts`]: text })
    return finder.rediscover(new Set([join(root, `all/${name}/src/plugin.ts`)]))
  }
  const second = await save('one', printing('one', 2))
  t.same(lines(second), ['one 2'])
  t.equal(source(second, 'one').manifest, source(first, 'one').manifest, 'an equal manifest is the same object')
  t.equal(second.files, first.files, 'the list of watched files is the same object')
  await save('one', 'const = 1')
  write(root, { 'all/one/src/plugin.ts': printing('one', 3) })
  t.same(lines(await save('two', printing('two', 2))), ['one 3', 'two 2'], 'a failed plugin is described again')
})

t.test('`lapsed` is the last valid manifest of a broken plugin', async t => {
  const root = folder(t, { ...plugin('all/one', 'one'), ...plugin('all/two', 'two') })
  const directories = [join(root, 'all')]
  const good = await discovery(t, root).discover(directories)
  t.same(
    good.sources.map(({ lapsed }) => lapsed),
    [null, null]
  )
  const remembered = source(good, 'one').manifest
  write(root, { 'all/one/src/plugin.ts': 'const = 1', 'all/two/package.json': '{ "na' })
  const broken = await discovery(t, root).discover(directories)
  t.match(source(broken, 'one'), { manifest: null, problem: { code: 'LDR_BUILD_FAILED' }, lapsed: remembered })
  t.match(source(broken, 'two'), { problem: { code: 'LDR_PACKAGE_INVALID' }, lapsed: { name: 'two' } })
  write(root, plugin('all/one', 'one'))
  t.match(source(await discovery(t, root).discover(directories), 'one'), { problem: null, lapsed: null })
})

t.test('prepare returns the current code and compiles only if files changed', async t => {
  const root = folder(
    t,
    plugin('all/one', 'one', pluginSource('one', 'return word', "import { word } from './word.ts'"))
  )
  write(root, { 'all/one/src/word.ts': "export const word = 'one'" })
  const one = source(await discovery(t, root).discover([join(root, 'all')]), 'one')
  const say = async (): Promise<unknown> => {
    const { hooks, dispose } = recorder()
    const { plugin } = (await one.prepare()).instantiate(hooks)
    await dispose()
    return plugin.activate({} as never, {})
  }
  const { fingerprint, inputs } = await one.prepare()
  t.same(
    [...inputs].sort(),
    ['package.json', 'src/plugin.ts', 'src/word.ts'].map(path => join(root, 'all/one', path))
  )
  for (const word of ['two', 'six', 'ten']) {
    // Same size, and written within the resolution of file times.
    write(root, { 'all/one/src/word.ts': `export const word = '${word}'` })
    t.equal(await say(), word)
  }
  t.not((await one.prepare()).fingerprint, fingerprint)
  settle(root, 'all/one/src/word.ts', 'all/one/src/plugin.ts', 'all/one/package.json')
  const prepared = await one.prepare()
  t.equal(await one.prepare(), prepared, 'unchanged code is the same object')
})

t.test('a second start uses the compiled code of the first', async t => {
  const root = folder(
    t,
    plugin('all/one', 'one', pluginSource('one', 'return 1', 'globalThis.ran = (globalThis.ran ?? 0) + 1'))
  )
  settle(root, 'all/one/src/plugin.ts', 'all/one/package.json')
  const directories = [join(root, 'all')]
  const before = discovery(t, root)
  const first = await before.discover(directories)
  const ran = (globalThis as { ran?: number }).ran
  const prepared = await source(first, 'one').prepare()
  const { fingerprint } = prepared
  const bundle = (await prepared.bundle) as string
  t.equal(dirname(bundle), join(root, 'cache/bundles'))
  t.match(basename(bundle), /^one-[0-9a-f]+\.cjs$/)
  t.ok(existsSync(bundle))
  await before.close()

  const second = await discovery(t, root).discover(directories)
  t.same(source(second, 'one').manifest, source(first, 'one').manifest)
  const again = await source(second, 'one').prepare()
  t.equal(again.fingerprint, fingerprint)
  t.equal((globalThis as { ran?: number }).ran, ran, 'no module body ran')

  writeFileSync(bundle, 'throw new Error("not ours")')
  const third = source(await discovery(t, root).discover(directories), 'one')
  t.equal((await third.prepare()).fingerprint, fingerprint, 'a bundle that differs from the index is compiled again')
})

t.test('a cache that is corrupt, of another version, or read-only is ignored', async t => {
  const root = folder(t, plugin('all/one', 'one'))
  const directories = [join(root, 'all')]
  const file = join(root, 'cache/plugins.index.json')
  settle(root, 'all/one/src/plugin.ts', 'all/one/package.json')
  await discovery(t, root).discover(directories)
  const index = readFileSync(file, 'utf8')
  const { format, entries } = JSON.parse(index)
  for (const content of [
    index.slice(0, 40),
    '[]',
    'null',
    JSON.stringify({ format: 'older', entries }),
    JSON.stringify({ format, entries: { [join(root, 'all/one')]: 5 } })
  ]) {
    writeFileSync(file, content)
    t.same(names(await discovery(t, root).discover(directories)), ['one'], content.slice(0, 20))
    t.match(JSON.parse(readFileSync(file, 'utf8')), { format, entries: { [join(root, 'all/one')]: { inputs: [] } } })
  }
  const blocked = await discovery(t, root, { cacheDirectory: join(root, 'all/one/package.json') }).discover(directories)
  t.same(names(blocked), ['one'])
  t.equal(await (await source(blocked, 'one').prepare()).bundle, null)
  t.same(names(await discovery(t, root, { cacheDirectory: null }).discover(directories)), ['one'])
})

t.test('a built plugin is listed without its code being read, and runs from its build', async t => {
  const root = folder(t, plugin('all/one', 'one', pluginSource('one', 'return 1')))
  const manifest = await buildPlugin(join(root, 'all/one'))
  t.match(manifest, { manifest: 1, name: 'one', version: '1.0.0' })
  const directories = [join(root, 'all')]
  const text = readFileSync(join(root, 'all/one/dist/plugin.cjs'), 'utf8')
  writeFileSync(join(root, 'all/one/dist/plugin.cjs'), 'broken (')
  const found = await discovery(t, root, { prefer: 'built' }).discover(directories)
  t.same(source(found, 'one').manifest, manifest)
  t.equal(source(found, 'one').problem, null)
  const { hooks } = recorder()
  const broken = await source(found, 'one').prepare()
  t.throws(() => broken.instantiate(hooks), { code: 'LDR_EVALUATE_FAILED' })
  writeFileSync(join(root, 'all/one/dist/plugin.cjs'), text)
  const code = await source(found, 'one').prepare()
  t.equal(await code.bundle, join(root, 'all/one/dist/plugin.cjs'))
  t.equal(code.instantiate(recorder().hooks).plugin.activate({} as never, {}), 1)

  write(root, { 'all/one/src/plugin.ts': 'not even TypeScript (' })
  t.equal(source(await discovery(t, root, { prefer: 'built' }).discover(directories), 'one').problem, null)
  t.ok(code.inputs.includes(join(root, 'all/one/dist/plugin.json')))
})

t.test('a build that does not match its package is an error', async t => {
  const root = folder(t, plugin('all/one', 'one'))
  await buildPlugin(join(root, 'all/one'))
  const directories = [join(root, 'all')]
  write(root, { 'all/one/package.json': packageJson('one', { version: '2.0.0' }) })
  const found = await discovery(t, root, { prefer: 'built' }).discover(directories)
  t.match(source(found, 'one').problem, { code: 'LDR_MANIFEST_INVALID', hint: /build/, message: /1\.0\.0.*2\.0\.0/ })
  write(root, { 'all/one/package.json': packageJson('one') })
  const text = readFileSync(join(root, 'all/one/dist/plugin.cjs'), 'utf8').replace('name: "one"', 'name: "two"')
  writeFileSync(join(root, 'all/one/dist/plugin.cjs'), text)
  const other = source(await discovery(t, root, { prefer: 'built' }).discover(directories), 'one')
  const code = await other.prepare()
  t.throws(() => code.instantiate(recorder().hooks), {
    code: 'LDR_MANIFEST_INVALID',
    message: /declares the name one, but the code declares two/
  })
})

t.test('an unbuilt plugin runs from its source, even if builds are preferred', async t => {
  const root = folder(t, plugin('all/one', 'one', pluginSource('one', 'return 1')))
  const found = await discovery(t, root, { prefer: 'built' }).discover([join(root, 'all')])
  const code = await source(found, 'one').prepare()
  t.equal(code.instantiate(recorder().hooks).plugin.activate({} as never, {}), 1)
})

t.test('a changed worker entry changes the fingerprint, for sources and builds', async t => {
  const entries = {
    svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts', entries: { worker: './src/worker.ts' } }
  }
  const root = folder(t, {
    ...plugin('all/one', 'one', pluginSource('one'), entries),
    'all/one/src/worker.ts': 'console.log(1)'
  })
  for (const prefer of ['source', 'built'] as const) {
    await buildPlugin(join(root, 'all/one'))
    const one = source(await discovery(t, root, { prefer }).discover([join(root, 'all')]), 'one')
    const { fingerprint, inputs } = await one.prepare()
    t.ok(inputs.includes(join(root, 'all/one', prefer === 'source' ? 'src/worker.ts' : 'dist/worker.cjs')))
    write(root, { 'all/one/src/worker.ts': `console.log('${prefer}')` })
    if (prefer === 'built') await buildPlugin(join(root, 'all/one'))
    t.not((await one.prepare()).fingerprint, fingerprint, prefer)
    t.match(readFileSync(join(root, 'all/one/dist/worker.cjs'), 'utf8'), prefer)
  }
})

t.test('an unreadable folder is reported as a problem', { skip: process.getuid?.() === 0 }, async t => {
  const root = folder(t, plugin('all/one', 'one'))
  chmodSync(join(root, 'all/one'), 0)
  t.teardown(() => chmodSync(join(root, 'all/one'), 0o755))
  const found = await discovery(t, root).discover([join(root, 'all')])
  t.match(found.sources, [{ problem: { code: 'LDR_PACKAGE_INVALID' } }])
})
