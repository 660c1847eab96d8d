import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { type KernelLogger, type LogLine, MaskedSecrets } from '@svc/kernel/testing'
import { assertNoLeaks } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import { openProject, type Project, type ProjectOptions, readCatalog } from '#host'
import { folder, packageJson, write } from '../fixtures/loader/plugin-folder.ts'

interface Surroundings {
  /** True to disable installed plugins in the file, instead of using `only`. */
  readonly alone?: boolean
  readonly env?: Readonly<Record<string, string>>
  /** Folder of an earlier project. Default: a new one. */
  readonly root?: string
  readonly only?: readonly string[]
}

interface Open {
  readonly project: Project
  readonly root: string
  readonly lines: LogLine[]
  /** Writes files and waits for a matching log line. */
  save(files: Readonly<Record<string, string | null>>, outcome: RegExp): Promise<void>
  call(operation: string): Promise<unknown>
}

/** Returns the source of a plugin with an operation `NAME.say` that returns a word and the settings. */
const source = (name: string, word: string, more = ''): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const say = defineOperation({ id: '${name}.say', summary: 'x', input: t.object({}), output: t.object({ said: t.string() }) })
export default definePlugin({
  name: '${name}',
  config: t.object({
    mood: t.string({ default: 'calm', 'x-reload': 'live' }),
    size: t.integer({ default: 1 }),
    ${more}
  }),
  operations: [say],
  activate: ctx => ctx.implement(say, () => ({ said: '${word} ' + ctx.config.mood + ' ' + ctx.config.size }))
})
`
const packaged = (name: string, text: string) => ({
  [`plugins/${name}/package.json`]: packageJson(name),
  [`plugins/${name}/src/plugin.ts`]: text
})

function memoryLog(lines: LogLine[]): KernelLogger {
  const secrets = new MaskedSecrets()
  const at = (plugin: string | null) => {
    const write =
      (level: string) =>
      (message: string, fields: Record<string, unknown> = {}): void =>
        void lines.push({ plugin, level, message, fields })
    return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  }
  return { ...at(null), forPlugin: at, setLevel: level => at(null).info(`level ${level}`), flush: () => {}, secrets }
}

async function open(
  t: Test,
  files: Readonly<Record<string, string | object>>,
  { alone = false, env = {}, root: given, ...options }: Omit<Partial<ProjectOptions>, 'only'> & Surroundings = {}
): Promise<Open> {
  const root = given ?? folder(t, { 'svc.toml': '', ...files })
  if (given !== undefined) write(given, files)
  const lines: LogLine[] = []
  const only = options.only ?? (alone ? [] : ['one', 'two', 'three'])
  const read = () => readCatalog({ cwd: root, env: { ...env, HOME: join(root, 'home') }, preferSource: true, only })
  let catalog = await read()
  if (alone) {
    const others = catalog.found.sources.filter(({ location }) => !location.startsWith(root))
    write(root, { 'svc.toml': others.map(({ name }) => `[plugins.${name}]\nenabled = false\n`).join('') })
    await catalog.close()
    catalog = await readCatalog({ cwd: root, env: { ...env, HOME: join(root, 'home') }, preferSource: true })
  }
  const chosen = alone ? {} : { only }
  const project = await openProject({ catalog, ...chosen, watch: true, log: memoryLog(lines), ...options })
  t.teardown(() => project.close())
  const save = async (changed: Readonly<Record<string, string | null>>, outcome: RegExp): Promise<void> => {
    const from = lines.length
    for (const [path, text] of Object.entries(changed)) {
      if (text === null) rmSync(join(root, path), { recursive: true })
      else write(root, { [path]: text })
    }
    while (!lines.slice(from).some(line => outcome.test(`${line.message} ${JSON.stringify(line.fields)}`))) await turn()
  }
  const principal = { id: 'x', role: 'owner', scopes: ['*'] }
  return { project, root, lines, save, call: id => project.kernel.invoke(id, {}, { surface: 'rpc', principal }) }
}

t.test('a saved plugin serves its new code', async t => {
  const { save, call } = await open(t, packaged('one', source('one', 'first')))
  t.same(await call('one.say'), { said: 'first calm 1' })
  await save({ 'plugins/one/src/plugin.ts': source('one', 'second') }, /generation 2/)
  t.same(await call('one.say'), { said: 'second calm 1' })
})

t.test('a refused change is applied when its error is fixed', async t => {
  const { save, call, project } = await open(t, {
    ...packaged('one', source('one', 'first')),
    ...packaged('two', source('two', 'first'))
  })
  const broken = source('two', 'second').replace('definePlugin({', 'definePlugin({{')
  await save(
    { 'plugins/one/src/plugin.ts': source('one', 'second'), 'plugins/two/src/plugin.ts': broken },
    /change refused/
  )
  t.same(await call('one.say'), { said: 'first calm 1' })
  t.match(project.admin.why('two').join(), /two is active: last change refused: .*plugin\.ts/)
  // A requested change works although another one was refused, and does not apply that one.
  t.match(await project.admin.apply({ disable: ['two'] }), { applied: true, remove: ['two'] })
  await project.admin.apply({ enable: ['two'] })
  t.same(await call('two.say'), { said: 'first calm 1' })
  await save({ 'plugins/two/src/plugin.ts': source('two', 'third') }, /generation 4/)
  t.same(await call('one.say'), { said: 'second calm 1' })
  t.same(await call('two.say'), { said: 'third calm 1' })
  t.match(project.admin.why('two'), ['two is active'])
})

t.test('a new plugin folder is loaded, and a removed one is unloaded', async t => {
  const { save, call, project } = await open(t, packaged('one', source('one', 'first')))
  await save(
    {
      'plugins/two/package.json': JSON.stringify(packageJson('two')),
      'plugins/two/src/plugin.ts': source('two', 'new')
    },
    /"added":\["two"\]/
  )
  t.same(await call('two.say'), { said: 'new calm 1' })
  await save({ 'plugins/two': null }, /"removed":\["two"\]/)
  await t.rejects(call('two.say'), { code: 'OPR_UNKNOWN' })
  t.notOk(project.kernel.records.has('two'))
})

t.test('with invalid settings the previous ones stay in force until they are fixed', async t => {
  const { save, call, project } = await open(t, packaged('one', source('one', 'hello')))
  const { instance } = project.kernel.current.units.get('one')!
  await save({ 'svc.toml': '[plugins.one]\nmood = "merry"\nsize = "big"\n' }, /the previous ones stay in force.*size/)
  t.same(await call('one.say'), { said: 'hello calm 1' })
  t.match(project.admin.why('one').join(), /last change refused: .*plugins\.one\.size/)
  await save({ 'svc.toml': '[plugins.one]\nmood = "glad"\nsize = 2\n' }, /generation 2/)
  t.same(await call('one.say'), { said: 'hello glad 2' })
  t.not(project.kernel.current.units.get('one')!.instance, instance)
  t.match(project.admin.why('one'), ['one is active'])
})

t.test('invalid settings of one plugin do not block another plugin', async t => {
  const { save, call, project } = await open(t, {
    ...packaged('one', source('one', 'first')),
    ...packaged('two', source('two', 'first'))
  })
  await save(
    { 'svc.toml': '[plugins.one]\nsize = "big"\n[plugins.two]\nsize = 2\n' },
    /the previous ones stay in force.*plugins.one.size/
  )
  t.same(await call('one.say'), { said: 'first calm 1' })
  t.same(await call('two.say'), { said: 'first calm 2' })
  t.match(project.admin.why('one').join(), /last change refused: .*plugins\.one\.size/)
  t.same(project.admin.why('two'), ['two is active'])
  t.match(project.admin.findings(), [{ plugin: 'one', severity: 'error', key: 'plugins.one.size' }])
  await save({ 'plugins/two/src/plugin.ts': source('two', 'second') }, /generation 3/)
  t.same(await call('two.say'), { said: 'second calm 2' })
  await save({ 'svc.toml': '[plugins.one]\nsize = 3\n[plugins.two]\nsize = 2\n' }, /generation 4/)
  t.same(await call('one.say'), { said: 'first calm 3' })
  t.same(project.admin.findings(), [])
})

t.test('an invalid plugin is logged once at the start and once when it is fixed', async t => {
  const { save, lines, project, call } = await open(
    t,
    {
      ...packaged('one', source('one', 'first')),
      ...packaged('two', 'export default ='),
      'plugins/other/package.json': packageJson('other'),
      'plugins/other/src/plugin.ts': source('one', 'copy')
    },
    { only: ['one', 'two', 'other'] }
  )
  const warned = (plugin: string) => lines.filter(line => line.level === 'warn' && line.plugin === plugin)
  t.match(warned('two'), [{ fields: { code: 'LDR_BUILD_FAILED' } }])
  t.match(warned('one'), [{ message: /two plugins are named one/, fields: { code: 'LDR_NAME_TAKEN' } }])
  t.match(
    project.admin
      .findings()
      .map(({ plugin, code }) => [plugin, code])
      .sort(),
    [
      ['one', 'LDR_NAME_TAKEN'],
      ['two', 'LDR_BUILD_FAILED']
    ]
  )
  t.match(project.admin.why('one').join('\n'), /warning: two plugins are named one/)
  await save({ 'plugins/one/src/plugin.ts': source('one', 'second') }, /generation 2/)
  t.equal(warned('two').length, 1, 'it is not logged again with each change')
  await save({ 'plugins/two/src/plugin.ts': source('two', 'healed') }, /two: no longer reported: LDR_BUILD_FAILED/)
  while ((await call('two.say').catch(() => null)) === null) await turn()
  t.equal(project.kernel.records.get('two')?.state, 'active')
})

t.test('a plugin folder that is created in several steps is loaded when it is complete', async t => {
  const { save, call, root } = await open(t, packaged('one', source('one', 'first')))
  write(root, { 'plugins/two/package.json': '{' })
  await save({ 'plugins/two/package.json': JSON.stringify(packageJson('two')) }, /LDR_ENTRY_INVALID/)
  await save({ 'plugins/two/src/plugin.ts': 'export default' }, /LDR_BUILD_FAILED/)
  await save({ 'plugins/two/src/plugin.ts': source('two', 'complete') }, /"added":\["two"\]/)
  t.same(await call('two.say'), { said: 'complete calm 1' })
})

t.test('a plugin that crashed the last process is left out until it changes or is enabled', async t => {
  const files = packaged('one', source('one', 'first'))
  const first = await open(t, files)
  const { fingerprint } = first.project.kernel.records.get('one')!.code!
  await first.project.close()
  const marks = '.vox/cache/loading.json'
  t.notOk(existsSync(join(first.root, marks)), 'the mark is removed once the plugin is active')
  // The id of a process that has ended.
  const { pid } = spawnSync(process.execPath, ['-e', '0'])
  const mark = JSON.stringify([{ plugin: 'one', fingerprint, pid }])
  const second = await open(t, { ...files, '.git/HEAD': '', [marks]: mark }, { root: first.root })
  const one = () => second.project.kernel.records.get('one')!
  t.not(one().state, 'active')
  t.match(second.project.admin.why('one').join('\n'), /svc crashed while it activated this version/)
  await second.project.admin.apply({ enable: ['one'] })
  t.equal(one().state, 'active')
})

t.test('with --safe, plugins of the project are neither described nor run', async t => {
  const root = folder(t, { 'svc.toml': '', ...packaged('one', "console.log('ran')\nthrow new Error('x')") })
  const catalog = await readCatalog({ cwd: root, env: { HOME: root }, only: ['one'], safe: true })
  t.same(catalog.found.output, [])
  const project = await openProject({ catalog, only: ['one'], log: memoryLog([]), tolerant: true })
  t.teardown(() => project.close())
  const one = project.kernel.records.get('one')!
  t.match(one, { state: 'disabled', why: 'left out by --safe' })
  t.notOk(catalog.found.files.some(file => file.includes('plugin.ts') && file.startsWith(root)))
})

t.test('a disabled plugin is described when it is enabled', async t => {
  const files = { ...packaged('one', source('one', 'first')), ...packaged('two', source('two', 'dark')) }
  const { call, project } = await open(t, files, { only: ['one'] })
  t.same(project.kernel.records.get('two')?.manifest?.operations, [])
  await project.admin.apply({ enable: ['two'] })
  t.same(await call('two.say'), { said: 'dark calm 1' })
})

t.test('the files of a plugin that is enabled while svc runs are watched, even if its code is broken', async t => {
  const files = { ...packaged('one', source('one', 'first')), ...packaged('two', 'export default definePlugin(') }
  const { call, project, save } = await open(t, files, { only: ['one'] })
  await project.admin.apply({ enable: ['two'] }).catch(() => {})
  t.match(project.kernel.records.get('two'), { state: 'invalid' })
  await save({ 'plugins/two/src/plugin.ts': source('two', 'mended') }, /generation 2/)
  t.same(await call('two.say'), { said: 'mended calm 1' })
})

t.test('a plugin with a wrong field in definePlugin is invalid, with the expected form', async t => {
  const wrong = source('two', 'x').replace("name: 'two',", "name: 'two', provides: { two: 'two@1' },")
  const { project } = await open(t, { ...packaged('one', source('one', 'first')), ...packaged('two', wrong) })
  t.match(project.kernel.records.get('two')?.source.problem, { code: 'LDR_MANIFEST_INVALID', plugin: 'two' })
  t.match(project.admin.why('two').join(), /provides in definePlugin must be a list of services/)
})

t.test('reload reads an invalid plugin again, and fails with its problem while it has one', async t => {
  const files = { ...packaged('one', source('one', 'first')), ...packaged('two', 'export default definePlugin(') }
  const { call, project, root } = await open(t, files, { watch: false })
  const reload = (dryRun = false) => project.admin.apply({ reload: ['two'] }, { dryRun })
  await t.rejects(reload(), { code: 'LDR_BUILD_FAILED', message: /plugin\.ts/ })
  await t.rejects(reload(true), { code: 'LDR_BUILD_FAILED' })
  write(root, { 'plugins/two/src/plugin.ts': source('two', 'mended') })
  t.match((await reload(true)).steps, ['add two'])
  await t.rejects(call('two.say'), { code: 'OPR_UNKNOWN' })
  t.match(await reload(), { applied: true, add: ['two'] })
  t.same(await call('two.say'), { said: 'mended calm 1' })
  t.same(project.admin.findings(), [])
})

t.test('reload reads a package again whose package.json was invalid', async t => {
  const { call, project, root } = await open(
    t,
    { ...packaged('one', source('one', 'first')), 'plugins/two/package.json': '{' },
    { watch: false }
  )
  await t.rejects(project.admin.apply({ reload: ['two'] }), { code: 'LDR_PACKAGE_INVALID' })
  write(root, packaged('two', source('two', 'mended')))
  t.match(await project.admin.apply({ reload: ['two'] }), { add: ['two'] })
  t.same(await call('two.say'), { said: 'mended calm 1' })
})

t.test('a change names the reason for which a requested plugin cannot run', async t => {
  const waiting = source('two', 'x').replace(
    "name: 'two',",
    "name: 'two', requires: { other: defineService('other@1') },"
  )
  const files = {
    ...packaged('one', source('one', 'first')),
    ...packaged('two', waiting.replace('defineOperation,', 'defineOperation, service as defineService,')),
    ...packaged('three', 'export default definePlugin(')
  }
  const { project } = await open(t, files, { only: ['one'], watch: false })
  const dry = async (name: string) => (await project.admin.apply({ enable: [name] }, { dryRun: true })).steps.join()
  t.match(await dry('two'), /^two cannot run: .*other@1/)
  t.match(await dry('three'), /^three cannot run: .*plugin\.ts/)
})

t.test('a dry run reads the code of a disabled plugin that was never read', async t => {
  const files = { ...packaged('one', source('one', 'first')), ...packaged('two', source('two', 'new')) }
  const { project } = await open(t, files, { only: ['one'], watch: false })
  t.match(await project.admin.apply({ enable: ['two'] }, { dryRun: true }), { applied: false, steps: ['add two'] })
  t.equal(project.kernel.records.get('two')?.state, 'disabled')
})

t.test('an isolated plugin cannot keep resources across reloads', async t => {
  const keeping = source('one', 'first').replace(
    'activate: ctx =>',
    "activate: async ctx => { await ctx.keep('x', () => 1, () => {}); return"
  )
  const { project } = await open(t, {
    ...packaged('one', keeping.replace(/\n\}\)\n$/, '\n}})\n')),
    'svc.toml': '[plugins.one]\nisolation = "process"\n'
  })
  t.match(project.admin.why('one').join(), /one is isolated and cannot keep x/)
})

t.test('concurrent calls of reconfigure apply the last written files', async t => {
  const { project, root, call } = await open(t, packaged('one', source('one', 'hello')), { watch: false })
  const all: Promise<void>[] = []
  for (let size = 2; size < 12; size++) {
    write(root, { 'svc.toml': `[plugins.one]\nsize = ${size}\nmood = "m${size}"\n` })
    all.push(project.reconfigure())
    await turn()
  }
  await Promise.all(all)
  t.same(await call('one.say'), { said: 'hello m11 11' })
})

t.test('a live setting is applied without a new instance', async t => {
  const { project, root, call } = await open(t, packaged('one', source('one', 'hello')), { watch: false })
  const { instance } = project.kernel.current.units.get('one')!
  write(root, { 'svc.toml': '[plugins.one]\nmood = "merry"\n' })
  await project.reconfigure()
  t.same(await call('one.say'), { said: 'hello merry 1' })
  t.equal(project.kernel.current.units.get('one')!.instance, instance)
})

t.test('enable with persist writes svc.toml', async t => {
  const { project, root, call } = await open(t, packaged('one', source('one', 'hello')), { watch: false })
  await project.admin.apply({ disable: ['one'], persist: true })
  t.equal(readFileSync(join(root, 'svc.toml'), 'utf8'), '[plugins.one]\nenabled = false\n')
  await project.reconfigure()
  t.equal(project.admin.plugins().find(each => each.name === 'one')?.state, 'disabled')
  await t.rejects(call('one.say'), { code: 'OPR_UNKNOWN', message: /one declares it and is disabled/ })
})

t.test('a later change of `enabled` in svc.toml overrides an earlier enable or disable', async t => {
  const { project, root, call } = await open(t, packaged('one', source('one', 'hello')), { watch: false, alone: true })
  const file = join(root, 'svc.toml')
  const text = readFileSync(file, 'utf8')
  await project.admin.apply({ disable: ['one'] })
  await project.reconfigure()
  await t.rejects(call('one.say'), { code: 'OPR_UNKNOWN' })
  write(root, { 'svc.toml': `${text}[plugins.one]\nenabled = true\n` })
  await project.reconfigure()
  t.same(await call('one.say'), { said: 'hello calm 1' })
  write(root, { 'svc.toml': `${text}[plugins.one]\nenabled = false\n` })
  await project.reconfigure()
  await t.rejects(call('one.say'), { code: 'OPR_UNKNOWN' })
})

t.test('disable has no effect if neither svc.toml nor svc.local.toml can be edited', async t => {
  const { project, root, call } = await open(
    t,
    { ...packaged('one', source('one', 'hello')), ...packaged('two', source('two', 'hello')) },
    { watch: false }
  )
  const file = join(root, 'svc.toml')
  // The edit for the first plugin succeeds, and is rolled back.
  write(root, {
    'svc.toml': 'plugins = { one = { size = 1 }, two = 5 }\n',
    'svc.local.toml': 'plugins = { two = 5 }\n'
  })
  const text = readFileSync(file, 'utf8')
  await t.rejects(project.admin.apply({ disable: ['one', 'two'], persist: true }), { code: /CFG_/ })
  t.equal(readFileSync(file, 'utf8'), text)
  t.same(await call('one.say'), { said: 'hello calm 1' })
  await project.kernel.change({})
  t.same(await call('two.say'), { said: 'hello calm 1' })
  write(root, { 'svc.toml': '', 'svc.local.toml': '' })
  await project.reconfigure()
  t.same(await call('one.say'), { said: 'hello calm 1' }, 'nor by a later change')
})

t.test('svc.toml is restored if the kernel refuses the change', async t => {
  const broken = `
    import { definePlugin } from '@svc/plugin-sdk'
    export default definePlugin({ name: 'two', activate() { throw new Error('no hands') } })`
  const { project, root } = await open(
    t,
    { ...packaged('one', source('one', 'hello')), ...packaged('two', broken), 'svc.toml': '# mine\n' },
    { watch: false, only: ['one'] }
  )
  await t.rejects(project.admin.apply({ enable: ['two'], persist: true }), { message: /no hands/ })
  t.equal(readFileSync(join(root, 'svc.toml'), 'utf8'), '# mine\n')
})

/** Returns the source of a plugin that provides or requires the service `clock`. */
const clock = (name: string, says: string): string => `
  import { definePlugin, service } from '@svc/plugin-sdk'
  const clock = service('clock@1')
  export default definePlugin({ name: '${name}', ${says} })`

t.test('with `only`, a plugin that is enabled at run time is activated with its requirements', async t => {
  const { project } = await open(
    t,
    {
      ...packaged('one', source('one', 'hello')),
      ...packaged('two', clock('two', 'requires: { clock }, activate() {}')),
      ...packaged('three', clock('three', 'provides: [clock], activate: ctx => ctx.provide(clock, 1)'))
    },
    { watch: false, only: ['one'] }
  )
  t.same([...project.kernel.current.units.keys()], ['one'])
  await project.admin.apply({ enable: ['two'] })
  t.same([...project.kernel.current.units.keys()].sort(), ['one', 'three', 'two'])
})

t.test('a dry run neither writes svc.toml nor changes plugins', async t => {
  const { project, root, call } = await open(t, packaged('one', source('one', 'hello')), { watch: false })
  t.match(await project.admin.apply({ disable: ['one'], persist: true }, { dryRun: true }), {
    applied: false,
    remove: ['one']
  })
  t.equal(readFileSync(join(root, 'svc.toml'), 'utf8'), '')
  await project.reconfigure()
  await project.kernel.change({})
  t.same(await call('one.say'), { said: 'hello calm 1' })
})

t.test('an unknown plugin is rejected by name', async t => {
  const { project } = await open(t, packaged('one', source('one', 'hello')), { watch: false })
  await t.rejects(project.admin.apply({ enable: ['on'] }), { code: 'KRN_PLUGIN_UNKNOWN', hint: 'did you mean one?' })
})

t.test('the settings table of a broken plugin is known, and its last schema causes no errors', async t => {
  const root = folder(t, {
    'svc.toml': '[plugins.one]\nmood = "merry"\n[plugins.two]\nmood = "glad"\nadded = 1\n',
    ...packaged('one', source('one', 'hello')),
    ...packaged('two', source('two', 'hello'))
  })
  const only = ['one', 'two']
  const read = () => readCatalog({ cwd: root, env: { HOME: join(root, 'home') }, preferSource: true, only })
  await (await read()).close()
  write(root, { 'plugins/two/src/plugin.ts': 'const = 1' })
  const lines: LogLine[] = []
  const project = await openProject({ catalog: await read(), only: ['one'], watch: false, log: memoryLog(lines) })
  t.teardown(() => project.close())
  t.notOk(lines.some(({ message }) => message.includes('no plugin "two"')))
  t.match(project.admin.explain('plugins.two.mood'), { value: 'glad' })
  t.match(await project.admin.validate(), [{ code: 'CFG_KEY_UNKNOWN', key: 'plugins.two.added' }])
  const principal = { id: 'x', role: 'owner', scopes: ['*'] }
  t.same(await project.kernel.invoke('one.say', {}, { surface: 'rpc', principal }), { said: 'hello merry 1' })
})

t.test('a plugin that is left out names the setting or the option that selects others', async t => {
  const files = { ...packaged('one', source('one', 'hello')), ...packaged('two', source('two', 'hello')) }
  const root = folder(t, { 'svc.toml': '[kernel]\nonly = ["one"]\n', ...files })
  const env = { HOME: join(root, 'home') }
  for (const [chosen, why] of [
    [{}, 'left out by kernel.only'],
    [{ only: ['one'] }, 'left out by --only']
  ] as const) {
    const catalog = await readCatalog({ cwd: root, env, preferSource: true, only: ['one', 'two'] })
    const project = await openProject({ catalog, ...chosen, watch: false, log: memoryLog([]) })
    t.match(project.admin.why('two').join('\n'), why)
    await project.close()
  }
})

t.test('closing a project leaks no resources and happens once', async t => {
  const root = folder(t, { 'svc.toml': '', ...packaged('one', source('one', 'hello')) })
  await assertNoLeaks(async () => {
    const catalog = await readCatalog({ cwd: root, env: {}, preferSource: true, only: ['one'] })
    const project = await openProject({ catalog, only: ['one'], ownsProcess: true, watch: true, log: memoryLog([]) })
    t.ok(process.listenerCount('uncaughtException') > 0)
    t.equal(project.admin.isServer, true)
    const reading = project.reconfigure()
    await Promise.all([project.close(), project.close(), reading])
  })
})

t.test('an uncaught error degrades the plugin that threw it', async t => {
  const { project, lines } = await open(
    t,
    {
      'plugins/one/package.json': packageJson('one'),
      'plugins/one/src/plugin.ts': `
        import { definePlugin } from '@svc/plugin-sdk'
        export default definePlugin({ name: 'one', activate() { setTimeout(() => { throw new Error('stray') }, 1) } })`
    },
    { watch: false }
  )
  while (!lines.some(line => line.message === 'uncaught error')) await turn()
  t.match(
    lines.find(line => line.message === 'uncaught error'),
    { plugin: 'one', fields: { error: { message: 'stray' }, policy: 'degrade' } }
  )
  t.match(project.admin.why('one'), ['one is degraded: uncaught: stray'])
})

t.test('an uncaught error outside all plugins ends the project', async t => {
  const { project } = await open(t, packaged('one', source('one', 'hello')), { watch: false, ownsProcess: true })
  const [listener] = process.listeners('uncaughtException').slice(-1)
  const error = new Error('whose is it?')
  listener?.(error, 'uncaughtException')
  await t.rejects(project.ended, error)
})

t.test('a single command also activates the resolver for the secrets of its plugin', async t => {
  process.env.ONE_PASSWORD = 'open sesame'
  t.teardown(() => delete process.env.ONE_PASSWORD)
  const { project, lines } = await open(
    t,
    {
      ...packaged('one', source('one', 'hello', 'password: t.secret()')),
      'svc.toml': '[plugins.one]\npassword = "secret://env/ONE_PASSWORD"\n'
    },
    { watch: false, only: ['one'] }
  )
  t.ok(project.kernel.current.units.has('secrets-env'), lines.map(line => line.message).join())
  t.equal(project.log.secrets.mask('it is open sesame'), 'it is ***')
  t.equal(project.admin.isServer, false)
})

for (const left of ['activate', 'only'] as const) {
  t.test(
    `what ${left} left out is there with what it requires when it is needed, unless it is switched off`,
    async t => {
      const { project } = await open(
        t,
        {
          ...packaged('one', source('one', 'hello')),
          ...packaged('two', clock('two', 'requires: { clock }, activate() {}')),
          ...packaged('three', clock('three', 'provides: [clock], activate: ctx => ctx.provide(clock, 1)')),
          ...packaged('four', source('four', 'hello')),
          'svc.toml': '[plugins.four]\nenabled = false\n'
        },
        { watch: false, ...(left === 'only' ? { only: ['one'] } : { activate: ['one'] }) }
      )
      const names = (): string[] => [...project.kernel.current.units.keys()].sort()
      t.same(names(), ['one'])
      t.match(await project.admin.apply({ activate: ['two'] }, { dryRun: true }), { add: ['three', 'two'] })
      t.same(names(), ['one'])
      t.match(await project.admin.apply({ activate: ['two'] }), { add: ['three', 'two'], replace: [] })
      t.same(names(), ['one', 'three', 'two'])
      await project.admin.apply({ activate: ['four'] })
      t.same(names(), ['one', 'three', 'two'])
      await t.rejects(project.admin.apply({ activate: ['five'] }), { code: 'KRN_PLUGIN_UNKNOWN' })
    }
  )
}

t.test('a single command activates the plugins that declare to contribute to a point of its plugin', async t => {
  const { project } = await open(
    t,
    {
      ...packaged('one', clock('one', 'points: [{ kind: "point", id: "one.items" }], activate() {}')),
      ...packaged('two', clock('two', 'contributes: [{ kind: "point", id: "one.items" }], activate() {}')),
      ...packaged('three', clock('three', 'contributes: [{ kind: "point", id: "other.items" }], activate() {}'))
    },
    { watch: false, activate: ['one'] }
  )
  t.same([...project.kernel.current.units.keys()].sort(), ['one', 'two'])
})

t.test('a single command activates the plugins that declare to tap a hook of its plugin', async t => {
  const hooks = (id: string): string => `[{ kind: "hook", id: "${id}", mode: "series", onError: "skip" }]`
  const { project } = await open(
    t,
    {
      ...packaged('one', clock('one', `hooks: ${hooks('one.saved')}, activate() {}`)),
      ...packaged('two', clock('two', `taps: ${hooks('one.saved')}, activate() {}`)),
      ...packaged('three', clock('three', `taps: ${hooks('other.saved')}, activate() {}`)),
      ...packaged('four', clock('four', `taps: ${hooks('one.saved')}, activate() {}`)),
      'svc.toml': '[plugins.four]\nenabled = false\n'
    },
    { watch: false, activate: ['one'] }
  )
  t.same([...project.kernel.current.units.keys()].sort(), ['one', 'two'])
})

t.test('a single command activates providers of optional services, but not of references', async t => {
  const { project } = await open(
    t,
    {
      ...packaged('one', clock('one', 'optional: { clock }, activate() {}')),
      ...packaged('two', clock('two', 'optional: { clock: { kind: "ref", id: clock.id } }, activate() {}')),
      ...packaged('three', clock('three', 'provides: [clock], activate: ctx => ctx.provide(clock, 1)'))
    },
    { watch: false, activate: ['two'] }
  )
  const names = (): string[] => [...project.kernel.current.units.keys()].sort()
  t.same(names(), ['two'])
  await project.admin.apply({ activate: ['one'] })
  t.same(names(), ['one', 'three', 'two'])
})

t.test('a single command reports only invalid variables of its plugin', async t => {
  const variable = (name: string): string => `level: t.integer({ default: 1, 'x-env': '${name}' })`
  const { lines, call } = await open(
    t,
    {
      ...packaged('one', source('one', 'hello', variable('ONE_LEVEL'))),
      ...packaged('two', source('two', 'hello', variable('TWO_LEVEL')))
    },
    { watch: false, activate: ['one'], env: { ONE_LEVEL: 'high', TWO_LEVEL: 'high' } }
  )
  t.same(await call('one.say'), { said: 'hello calm 1' })
  t.match(
    lines.map(({ level, message }) => `${level} ${message}`),
    [/^warn .*ONE_LEVEL/]
  )
  t.notMatch(lines.map(({ message }) => message).join(), /TWO_LEVEL/)
})

t.test(
  'enable fails with the path of svc.toml if its folder is read-only',
  { skip: process.getuid?.() === 0 },
  async t => {
    const { project, root, call } = await open(t, packaged('one', source('one', 'hello')), { watch: false })
    chmodSync(root, 0o500)
    t.teardown(() => chmodSync(root, 0o700))
    await t.rejects(project.admin.apply({ disable: ['one'], persist: true }), { message: /svc\.toml/ })
    t.same(await call('one.say'), { said: 'hello calm 1' })
  }
)
