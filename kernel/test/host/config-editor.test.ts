import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigEditor } from '@svc/contracts'
import { type KernelLogger, MaskedSecrets } from '@svc/kernel/testing'
import { defined } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { openProject, type Project, readCatalog } from '#host'
import { folder, packageJson, write } from '../fixtures/loader/plugin-folder.ts'

/** Plugin with an operation that returns its settings, and a token. It refuses the mood `angry`. */
const source = (name: string): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const say = defineOperation({ id: '${name}.say', summary: 'x', input: t.object({}), output: t.object({ said: t.string() }) })
export default definePlugin({
  name: '${name}',
  config: t.object({
    mood: t.string({ default: 'calm', 'x-reload': 'live', 'x-env': '${name.toUpperCase()}_MOOD' }),
    size: t.integer({ default: 1, maximum: 99 }),
    late: t.boolean({ default: false, 'x-reload': 'restart' }),
    tags: t.array(t.string(), { default: [] }),
    token: t.optional(t.secret())
  }),
  operations: [say],
  activate: ctx => {
    if (ctx.config.size === 13) throw new Error('size 13 brings bad luck')
    ctx.onConfig(({ mood }) => { if (mood === 'angry') throw new Error('no anger here') })
    ctx.implement(say, () => ({ said: ctx.config.mood + ' ' + ctx.config.size + ' ' + ctx.config.tags.join() }))
  }
})
`
const packaged = (name: string) => ({
  [`plugins/${name}/package.json`]: packageJson(name),
  [`plugins/${name}/src/plugin.ts`]: source(name)
})

function quietLog(levels: string[] = []): KernelLogger {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  return {
    ...log,
    forPlugin: () => log,
    setLevel: level => void levels.push(level),
    flush() {},
    secrets: new MaskedSecrets()
  }
}

interface Open {
  readonly project: Project
  readonly editor: ConfigEditor
  readonly root: string
  text(): string
  say(): Promise<unknown>
}

interface Options {
  readonly env?: Readonly<Record<string, string>>
  readonly serves?: boolean
  readonly watch?: boolean
  readonly files?: Readonly<Record<string, string | object>>
  readonly only?: readonly string[]
  /** Receives the levels that the log gets. */
  readonly levels?: string[]
}

async function open(t: Test, text: string | null, options: Options = {}): Promise<Open> {
  const { env = {}, serves = true, watch = false, files = {}, only = ['one', 'secrets-env'], levels } = options
  const root = folder(t, { '.git/HEAD': '', ...packaged('one'), ...files })
  if (text !== null) write(root, { 'svc.toml': text })
  const catalog = await readCatalog({ cwd: root, env: { ...env, HOME: join(root, 'home') }, preferSource: true, only })
  const project = await openProject({ catalog, only, watch, serves, log: quietLog(levels) })
  t.teardown(() => project.close())
  const principal = { id: 'x', role: 'owner', scopes: ['*'] }
  return {
    project,
    editor: project.admin.configuration,
    root,
    text: () => readFileSync(join(root, 'svc.toml'), 'utf8'),
    say: async () => (await project.kernel.invoke('one.say', {}, { surface: 'rpc', principal })) as unknown
  }
}

t.test('a preview names what would change, and changes nothing', async t => {
  const { editor, text, say } = await open(t, '# mine\n[plugins.one]\nsize = 2 # two\n')
  const preview = await editor.preview({
    changes: { 'plugins.one.size': 3, 'one.mood': 'happy', 'plugins.one.late': true }
  })
  t.equal(preview.after, '# mine\n[plugins.one]\nsize = 3 # two\nmood = "happy"\nlate = true\n')
  t.match(preview.plan, {
    applied: false,
    replace: ['one'],
    steps: ['replace one: its code or settings changed', /mood: at once/, /late: at the next start/]
  })
  t.same(
    [...preview.changed].sort((a, b) => (a.key < b.key ? -1 : 1)),
    [
      { key: 'plugins.one.late', reload: 'restart' },
      { key: 'plugins.one.mood', reload: 'live' },
      { key: 'plugins.one.size', reload: 'plugin' }
    ]
  )
  t.same([preview.caused, preview.shadowed], [[], []])
  t.equal(text(), '# mine\n[plugins.one]\nsize = 2 # two\n')
  t.same(await say(), { said: 'calm 2 ' })
  t.same(editor.history(), [])
})

t.test('a written change is in force when the call returns', async t => {
  const { editor, text, say, project } = await open(t, '[plugins.one]\nsize = 2\n')
  const { digest } = await editor.preview({ changes: { 'plugins.one.size': 3 } })
  const result = await editor.write({ changes: { 'plugins.one.size': 3 } }, digest)
  t.match(result, { written: true, applied: true, report: { applied: true, replace: ['one'] }, refused: [] })
  t.same(await say(), { said: 'calm 3 ' })
  t.equal(text(), '[plugins.one]\nsize = 3\n')
  t.equal(result.digest, editor.read().digest)
  t.match(project.admin.generations(), [
    { generation: 2, cause: 'plugins.one.size changed in svc.toml', replaced: ['one'], refused: null },
    { generation: 1, cause: 'start of svc', refused: null }
  ])
  t.match(await editor.write({ changes: { 'plugins.one.size': 3 } }), { written: false, applied: true })
  t.match(await editor.write({ assignments: ['one.mood=very happy', 'plugins.one.tags=a, b'] }), { applied: true })
  t.same(await say(), { said: 'very happy 3 a,b' })
})

t.test('a file that was changed since the preview is not written', async t => {
  const { editor, root, text } = await open(t, '[plugins.one]\nsize = 2\n')
  const { digest } = await editor.preview({ changes: { 'plugins.one.size': 3 } })
  write(root, { 'svc.toml': '[plugins.one]\nsize = 4\n' })
  await t.rejects(editor.write({ changes: { 'plugins.one.size': 3 } }, digest), {
    code: 'CFG_CHANGED',
    status: 409,
    at: { file: join(root, 'svc.toml') }
  })
  t.equal(text(), '[plugins.one]\nsize = 4\n')
})

t.test('an invalid value is refused with its problem, and changes nothing', async t => {
  const { editor, text, say } = await open(t, '[plugins.one]\nsize = 2\n')
  for (const [changes, code] of [
    [{ 'plugins.one.size': 100 }, 'CFG_VALUE_INVALID'],
    [{ 'plugins.one.siize': 1 }, 'CFG_KEY_UNKNOWN'],
    [{ 'plugins.oen.size': 1 }, 'CFG_PLUGIN_UNKNOWN'],
    [{ 'plugins.one': 1 }, 'CFG_VALUE_INVALID']
  ] as const) {
    t.match((await editor.preview({ changes })).caused, [{ severity: 'error', code }], JSON.stringify(changes))
    await t.rejects(editor.write({ changes }), { code: 'CFG_WRITE_REFUSED', message: new RegExp(code) })
  }
  await t.rejects(editor.write({ raw: '[plugins.one\n' }), { code: 'CFG_WRITE_REFUSED', message: /CFG_TOML_SYNTAX/ })
  await t.rejects(editor.preview({ assignments: ['plugins.one.siize=1'] }), {
    code: 'CFG_SETTING_UNKNOWN',
    hint: /size/
  })
  await t.rejects(editor.preview({ assignments: ['plugins'] }), { code: 'CFG_SET_INVALID' })
  t.equal(text(), '[plugins.one]\nsize = 2\n')
  t.same(await say(), { said: 'calm 2 ' })
  t.same(editor.history(), [])
})

t.test('if a plugin refuses its new settings, the file gets its old text back', async t => {
  const { editor, text, say, project, root } = await open(t, '[plugins.one]\nsize = 2\n')
  await t.rejects(editor.write({ changes: { 'plugins.one.size': 13 } }), {
    code: 'CFG_WRITE_REFUSED',
    message: /svc\.toml was not changed: .*bad luck/
  })
  await t.rejects(editor.write({ changes: { 'plugins.one.mood': 'angry' } }), { message: /no anger here/ })
  t.equal(text(), '[plugins.one]\nsize = 2\n')
  t.same(await say(), { said: 'calm 2 ' })
  t.same(editor.history(), [])
  t.same(
    readdirSync(root).filter(name => name.includes('tmp')),
    []
  )
  t.match(project.admin.generations(), [
    { generation: 1, refused: { code: 'KRN_SETTINGS_REFUSED', message: /no anger/ } },
    { generation: 1, refused: { code: 'KRN_ACTIVATE_FAILED', message: /bad luck/ } },
    { generation: 1, refused: null }
  ])
  // The next change does not apply the refused one.
  await editor.write({ changes: { 'plugins.one.tags': ['a'] } })
  t.same(await say(), { said: 'calm 2 a' })
})

t.test('an error that was in the file before does not prevent a step of its correction', async t => {
  const { editor, root, text, say } = await open(t, '[plugins.one]\nsize = 2\n')
  write(root, { 'svc.toml': '[kernel]\nwach = true\nwtach = true\n[plugins.one]\nsize = 3\n' })
  const step = await editor.write({ changes: { 'kernel.wach': null } })
  t.match(step, { written: true, applied: false, refused: [{ plugin: null, reason: /kernel\.wtach/ }] })
  t.same(await say(), { said: 'calm 2 ' })
  t.match(await editor.write({ changes: { 'kernel.wtach': null } }), { applied: true, refused: [] })
  t.same(await say(), { said: 'calm 3 ' })
  t.equal(text(), '[kernel]\n[plugins.one]\nsize = 3\n')
})

t.test('a text that is too long to edit is refused', async t => {
  const { editor } = await open(t, '')
  const raw = `# ${'x'.repeat(65 * 1024)}\n`
  const refusal = { code: 'CFG_WRITE_REFUSED', message: /has 66563 characters; svc edits at most 65536/ }
  await t.rejects(editor.preview({ raw }), refusal)
  await t.rejects(editor.write({ raw }), refusal)
  await t.rejects(editor.write({ changes: { 'plugins.one': {}, 'plugins.one.size': 1 } }), {
    code: 'CFG_EDIT_FAILED',
    message: /plugins\.one\.size is part of plugins\.one/
  })
})

t.test('a value that would occupy the event loop is refused', async t => {
  const { editor, text } = await open(t, '[plugins.one]\nsize = 3\n')
  const table = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`k${index}`, { a: 1 }]))
  const refusal = { code: 'CFG_WRITE_REFUSED', message: /plugins\.zz: svc changes at most \d+ values .*, not 2000/ }
  await t.rejects(editor.preview({ changes: { 'plugins.zz': table } }), refusal)
  await t.rejects(editor.write({ changes: { 'plugins.zz': table } }), refusal)
  const list = Array.from({ length: 60_000 }, (_, index) => index)
  await t.rejects(editor.preview({ changes: { 'plugins.zz.list': list } }), {
    code: 'CFG_WRITE_REFUSED',
    message: /with the value of plugins\.zz\.list, the configuration file would have more than 65536 characters/
  })
  const few = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`k${index}`, 1]))
  t.match((await editor.preview({ changes: { 'plugins.zz': few } })).after, /k39 = 1/)
  t.equal(text(), '[plugins.one]\nsize = 3\n')
})

t.test('a changed level of the log applies at once', async t => {
  const levels: string[] = []
  const { editor } = await open(t, '', { levels })
  await editor.write({ changes: { 'kernel.log_level': 'debug' } })
  t.same(levels, ['debug'])
})

t.test('a value that another layer overrides is written and named as without effect', async t => {
  const { editor } = await open(t, '', {
    env: { ONE_MOOD: 'loud' },
    files: { 'svc.local.toml': '[plugins.one]\nsize = 5\n' }
  })
  const edit = { changes: { 'plugins.one.mood': 'quiet', 'plugins.one.size': 6, 'plugins.one.enabled': true } }
  const preview = await editor.preview(edit)
  t.same(preview.shadowed, [
    { key: 'plugins.one.mood', layer: 'environment', place: 'ONE_MOOD' },
    { key: 'plugins.one.size', layer: 'local', place: 'svc.local.toml:2:1' },
    { key: 'plugins.one.enabled', layer: 'only', place: '--only' }
  ])
  t.same(
    preview.changed.filter(({ key }) => /mood|size/.test(key)),
    []
  )
})

t.test('previous texts are kept for the owner only, and can be restored', async t => {
  const { editor, text, say, project, root } = await open(t, '[plugins.one]\nsize = 1\n')
  for (let size = 2; size <= 23; size++) if (size !== 13) await editor.write({ changes: { 'plugins.one.size': size } })
  const versions = editor.history()
  t.equal(versions.length, 20)
  t.match(versions[0], { number: 1, keys: ['plugins.one.size'], time: /^\d{4}-/ })
  const kept = join(project.kernel.stateRoot, 'config-history')
  t.equal(statSync(kept).mode & 0o777, 0o700)
  for (const name of readdirSync(kept)) t.equal(statSync(join(kept, name)).mode & 0o777, 0o600)

  const { digest, after } = await editor.preview({ number: 2 })
  t.equal(after, '[plugins.one]\nsize = 21\n')
  await editor.write({ number: 2 }, digest)
  t.equal(text(), '[plugins.one]\nsize = 21\n')
  t.same(await say(), { said: 'calm 21 ' })
  t.match(editor.history()[0], { keys: ['plugins.one.size'] }, 'a rollback can be rolled back')
  await editor.write({ number: 1 })
  t.equal(text(), '[plugins.one]\nsize = 23\n')
  await editor.write({ id: versions[3]?.id ?? '' })
  t.equal(text(), '[plugins.one]\nsize = 19\n')
  await t.rejects(editor.preview({ number: 99 }), { code: 'CFG_VERSION_UNKNOWN', status: 404 })
  await t.rejects(editor.preview({ id: '../../svc' }), { code: 'CFG_VERSION_UNKNOWN' })

  await project.admin.apply({ reload: ['one'] })
  t.equal(readFileSync(join(root, 'svc.toml'), 'utf8'), text())
})

t.test('a draft of a previous text does not stay after its process was killed', async t => {
  const { editor, project, text } = await open(t, '[plugins.one]\nsize = 1\n')
  await editor.write({ changes: { 'plugins.one.size': 2 } })
  const history = join(project.kernel.stateRoot, 'config-history')
  const draft = join(history, '000000000000001.json.tmp')
  writeFileSync(draft, 'token = "hunter2"')
  utimesSync(draft, 1, 1)
  await editor.write({ changes: { 'plugins.one.size': 3 } })
  t.notOk(readdirSync(history).some(name => name.endsWith('.tmp')))
  t.equal(text(), '[plugins.one]\nsize = 3\n')
})

t.test('a literal secret is refused, and one that is in the file is never shown', async t => {
  const value = 'hunter2-hunter2'
  const { editor, text, root } = await open(t, `[plugins.one]\ntoken = "${value}" # of one\n`)
  for (const edit of [
    { changes: { 'plugins.one.token': `${value}x` } },
    { assignments: [`one.token=${value}x`] },
    { raw: `[plugins.one]\ntoken = "${value}"\nsize = 2\n` },
    { raw: '[plugins.one]\ntoken = "********"\n' }
  ]) {
    const { caused, ...shown } = await editor.preview(edit)
    t.match(caused, [
      { severity: 'error', code: 'CFG_SECRET_LITERAL', key: 'plugins.one.token', hint: /secret:\/\/env\/NAME/ }
    ])
    t.notMatch(JSON.stringify([caused, shown]), value)
    const error = await editor.write(edit).then(
      () => t.fail('it was written'),
      error => error as Error
    )
    t.match(error, { code: 'CFG_WRITE_REFUSED' })
    t.notMatch(JSON.stringify([error, (error as Error).message]), value)
  }
  t.match(editor.read(), {
    exists: true,
    text: '[plugins.one]\ntoken = "********" # of one\n',
    editable: false,
    reason: /^line 2 \(plugins\.one\.token\): holds a secret/
  })
  // Other keys can be changed, and the value stays in the file.
  await editor.write({ changes: { 'plugins.one.size': 5 } })
  t.equal(text(), `[plugins.one]\ntoken = "${value}" # of one\nsize = 5\n`)
  await editor.write({ changes: { 'plugins.one.token': 'secret://env/HOME' } })
  t.match(editor.read(), { editable: true, reason: null })
  // The text before may be restored: its owner wrote it. The preview does not show the value.
  const preview = await editor.preview({ number: 1 })
  t.match(preview.caused, [{ severity: 'warning', code: 'CFG_SECRET_LITERAL' }])
  t.notMatch(JSON.stringify(preview), value)
  write(root, { 'svc.toml': `[plugins.one]\ntoken = "${value}\n` })
  t.notMatch(JSON.stringify(editor.read()), value)
  t.equal(editor.read().editable, false)
})

t.test('secrets in lists, inline tables and tables of unknown plugins are masked', async t => {
  const { editor, root } = await open(t, '')
  write(root, {
    'svc.toml':
      'plugins = { one = { token = "hunter2-1" } }\n[[other.peers]]\napi_key = "hunter2-2"\nname = "x"\n[none]\npasswords = ["hunter2-3"]\n'
  })
  const { text, reason } = editor.read()
  t.notMatch(text, /hunter2/)
  t.match(text, 'name = "x"')
  t.match(reason, /line 1 .*line 3 .*line 6 /)
})

t.test('in a text that is not valid TOML, no word of a secret is shown', async t => {
  const { editor, root } = await open(t, '')
  // A passphrase that contains the name of a secret, and the last line of a key in Base64.
  const raw = '[plugins.one]\ntoken = """\nhunter2-private-secret\naHVudGVyMg==\n"""\nsize = \n'
  const { caused, ...preview } = await editor.preview({ raw })
  t.match(caused, [{ code: 'CFG_TOML_SYNTAX' }, { key: 'token', line: 2 }, { key: 'a value', line: 3 }])
  write(root, { 'svc.toml': raw })
  const shown = JSON.stringify([caused, preview, editor.read()])
  t.notMatch(shown, 'hunter2')
  t.notMatch(shown, 'aHVudGVyMg')
})

t.test('a file with a byte order mark, or with a date that does not exist, is shown and edited', async t => {
  const { editor, root, text } = await open(t, '\ufeff[plugins.one]\r\ntoken = "hunter2-1"\r\nsize = 2\r\n')
  t.match(editor.read(), { editable: false, reason: /^line 2 \(plugins\.one\.token\)/ })
  await editor.write({ changes: { 'plugins.one.size': 3 } })
  t.equal(text(), '\ufeff[plugins.one]\r\ntoken = "hunter2-1"\r\nsize = 3\r\n')
  write(root, { 'svc.toml': 'day = 2021-02-30\n[plugins.one]\ntoken = "hunter2-1"\n' })
  t.notMatch(editor.read().text, 'hunter2')
})

t.test('the file keeps its mode and its link, and is created if it does not exist', async t => {
  const { editor, root, text } = await open(t, null)
  t.match(editor.read(), { exists: false, text: '', editable: true })
  await editor.write({ changes: { 'plugins.one.size': 2 } })
  t.equal(text(), '[plugins.one]\nsize = 2\n')
  await t.rejects(editor.write({ changes: { 'plugins.one.size': 13 } }))
  chmodSync(join(root, 'svc.toml'), 0o640)
  await editor.write({ changes: { 'plugins.one.size': 3 } })
  t.equal(statSync(join(root, 'svc.toml')).mode & 0o777, 0o640)

  const linked = await open(t, null, { files: { 'etc/real.toml': '[plugins.one]\nsize = 1\n' } })
  symlinkSync('etc/real.toml', join(linked.root, 'svc.toml'))
  await linked.editor.write({ changes: { 'plugins.one.size': 2 } })
  t.equal(readFileSync(join(linked.root, 'etc/real.toml'), 'utf8'), '[plugins.one]\nsize = 2\n')
})

t.test('a process for one command writes the file and applies nothing', async t => {
  const { editor, text } = await open(t, '', { serves: false })
  t.equal((await editor.preview({ changes: { 'plugins.one.size': 2 } })).plan, null)
  t.match(await editor.write({ changes: { 'plugins.one.size': 2 } }), { written: true, applied: false, report: null })
  t.equal(text(), '[plugins.one]\nsize = 2\n')
})

t.test('a written change is applied once, although its file is watched', async t => {
  const { editor, say, project, root } = await open(t, '[plugins.one]\nsize = 1\n', { watch: true })
  await editor.write({ changes: { 'plugins.one.size': 2 } })
  t.same(await say(), { said: 'calm 2 ' })
  const flipped = new Promise(resolve => {
    project.kernel.topics.subscribe(['kernel.generation'], resolve)
  })
  write(root, { 'svc.toml': '[plugins.one]\nsize = 3\n' })
  await flipped
  t.match(project.admin.generations()[0], { generation: 3, cause: 'svc.toml changed' })
})

t.test('a plugin that was never loaded is part of the plan that enables it', async t => {
  const root = folder(t, { '.git/HEAD': '', ...packaged('one'), ...packaged('two') })
  const read = (only?: readonly string[]) =>
    readCatalog({ cwd: root, env: { HOME: join(root, 'home') }, preferSource: true, ...defined({ only }) })
  // The other plugins are disabled before they are compiled.
  const first = await read(['one'])
  const others = first.found.sources.filter(({ name }) => name !== 'one')
  write(root, { 'svc.toml': others.map(({ name }) => `[plugins.${name}]\nenabled = false\n`).join('') })
  await first.close()
  const project = await openProject({ catalog: await read(), watch: false, log: quietLog() })
  t.teardown(() => project.close())
  const preview = await project.admin.configuration.preview({ changes: { 'plugins.two.enabled': true } })
  t.match(preview, { caused: [], plan: { applied: false, add: ['two'] }, changed: [{ key: 'plugins.two.enabled' }] })
  t.equal(project.kernel.current.units.has('two'), false)
  t.match(await project.admin.configuration.write({ changes: { 'plugins.two.enabled': true } }), {
    applied: true,
    report: { add: ['two'] }
  })
  t.equal(project.kernel.current.units.has('two'), true)
})

t.test('topics announce generations, states of plugins and configuration', async t => {
  const { project, editor } = await open(t, '')
  const woken = new Set<string>()
  project.kernel.topics.subscribe(['kernel.generation', 'kernel.plugins', 'kernel.config'], topic => woken.add(topic))
  await editor.write({ changes: { 'plugins.one.mood': 'happy' } })
  t.same([...woken].sort(), ['kernel.config', 'kernel.plugins'], 'a live setting needs no generation')
  await project.admin.apply({ reload: ['one'] })
  t.ok(woken.has('kernel.generation'))
  t.match(project.admin.generations()[0], { cause: 'svc plugins reload one', replaced: ['one'] })
  t.match(
    project.admin.plugins().find(({ name }) => name === 'one'),
    { calls: 0, failures: 0 }
  )
})

t.test('the secrets of all settings are resolved or explained, without their values', async t => {
  const value = 'hunter2-hunter2'
  process.env.SVC_TEST_DOCTOR_SECRET = value
  t.teardown(() => delete process.env.SVC_TEST_DOCTOR_SECRET)
  const { project, root } = await open(t, '[plugins.one]\ntoken = "secret://env/SVC_TEST_DOCTOR_SECRET"\n', {
    files: { ...packaged('two'), ...packaged('three'), 'svc.local.toml': `[plugins.two]\ntoken = "${value}"\n` },
    only: ['one', 'two', 'three', 'secrets-env']
  })
  rmSync(join(root, '.git'), { recursive: true })
  execFileSync('git', ['init', '-q'], { cwd: root })
  execFileSync('git', ['add', '-f', 'svc.local.toml'], { cwd: root })
  chmodSync(join(root, 'svc.local.toml'), 0o644)
  const report = await project.admin.secrets()
  t.notMatch(JSON.stringify(report), value)
  const of = (key: string) => report.secrets.find(secret => secret.key === key)
  t.match(of('plugins.one.token'), {
    kind: 'reference',
    reference: 'secret://env/SVC_TEST_DOCTOR_SECRET',
    backend: 'env',
    resolved: true,
    problem: null,
    place: 'svc.toml:2:1',
    warnings: []
  })
  t.match(of('plugins.two.token'), {
    kind: 'literal',
    resolved: null,
    layer: 'local',
    place: 'svc.local.toml:2:1',
    warnings: [/holds the value/, /mode 0644/, /git tracks/]
  })
  t.match(of('plugins.three.token'), { kind: 'unset', place: null, warnings: [] })
  t.match(report.files, [{ path: join(root, 'svc.local.toml'), mode: '0644', shared: true, tracked: true }])
  delete process.env.SVC_TEST_DOCTOR_SECRET
  t.match(
    (await project.admin.secrets()).secrets.find(({ key }) => key === 'plugins.one.token'),
    {
      resolved: false,
      problem: /SVC_TEST_DOCTOR_SECRET is not set/
    }
  )
})

t.test('conflicts name the plugin that has a key, and the package that is used', async t => {
  const files = {
    ...packaged('one'),
    'plugins/other/package.json': packageJson('other'),
    'plugins/other/src/plugin.ts': source('one')
      .replace("name: 'one'", "name: 'other'")
      .replace(/, 'x-env'.*? }/, ' }'),
    'plugins/third/package.json': packageJson('third'),
    'plugins/third/src/plugin.ts': source('third').replace('THIRD_MOOD', 'ONE_MOOD'),
    'more/one/package.json': packageJson('one'),
    'more/one/src/plugin.ts': source('one')
  }
  const { project, root } = await open(t, '[kernel]\nplugin_directories = ["more"]\n', {
    files,
    only: ['one', 'other', 'third']
  })
  const { keys, names } = project.admin.conflicts()
  const conflict = keys.find(({ key }) => key === 'operation one.say')
  t.same(conflict?.claims.map(({ plugin }) => plugin).sort(), ['one', 'other'])
  t.equal(conflict?.used, 'one')
  t.match(conflict?.detail, /other is failed: conflict on operation one\.say/)
  t.match(
    keys.find(({ key }) => key === 'setting plugins.third.mood'),
    {
      claims: [{ plugin: 'third', state: 'invalid' }],
      used: null,
      detail: /ONE_MOOD is declared for plugins\.one\.mood/
    }
  )
  t.same(names, [{ name: 'one', used: join(root, 'plugins/one'), shadowed: join(root, 'more/one') }])
})

t.test('permissions show what is requested, granted and in force', async t => {
  const { project } = await open(t, '[plugins.one]\nisolation = "process"\n[plugins.one.permissions]\nenv = ["HOME"]\n')
  t.match(project.admin.permissions('one'), {
    isolation: 'process',
    requested: {},
    granted: { env: ['HOME'] },
    effective: { env: ['HOME'] }
  })
  t.match(project.admin.permissions('secrets-env'), { isolation: 'in-process', granted: null, effective: null })
  t.throws(() => project.admin.permissions('noe'), { code: 'KRN_PLUGIN_UNKNOWN' })
})
