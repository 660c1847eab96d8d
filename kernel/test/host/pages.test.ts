import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type PageModule, pagesTopic, type UnitPage } from '@svc/contracts'
import { type LogLine, memoryLog } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { openProject, type Project, readCatalog } from '#host'
import { buildPlugin } from '#loader'
import { type Files, folder, packageJson, pluginSource, write } from '../fixtures/loader/plugin-folder.ts'

const page = (word: string): string =>
  `import { suffix } from './suffix.ts'\nexport function mount(root: { text: string }) { root.text = '${word}' + suffix }`

const packaged = (pages: Readonly<Record<string, string>>): object =>
  packageJson('one', { svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts', pages } })

const PLUGIN: Files = {
  'plugins/one/package.json': packaged({ chat: './page/chat.ts' }),
  'plugins/one/src/plugin.ts': pluginSource('one'),
  'plugins/one/page/chat.ts': page('hello'),
  'plugins/one/page/suffix.ts': "export const suffix = '!'"
}

interface Open {
  readonly project: Project
  readonly root: string
  readonly lines: LogLine[]
  chat(): UnitPage
  /** Saves files and waits until the topic of pages is announced. */
  save(files: Files): Promise<void>
}

interface Options {
  readonly files?: Files
  readonly fromSource?: boolean
  readonly watch?: boolean
  readonly build?: boolean
}

async function open(
  t: Test,
  { files = {}, fromSource = true, watch = true, build = false }: Options = {}
): Promise<Open> {
  const root = folder(t, { 'svc.toml': '', ...PLUGIN, ...files })
  if (build) await buildPlugin(join(root, 'plugins/one'))
  const lines: LogLine[] = []
  const only = ['one']
  const catalog = await readCatalog({ cwd: root, env: { HOME: join(root, 'home') }, preferSource: fromSource, only })
  const project = await openProject({ catalog, only, watch, log: memoryLog(lines) })
  t.teardown(() => project.close())
  const { topics } = project.kernel
  return {
    project,
    root: join(root, 'plugins/one'),
    lines,
    chat: () => project.kernel.current.units.get('one')?.pages.get('chat') as UnitPage,
    save: changed =>
      new Promise(resolve => {
        const end = topics.subscribe([pagesTopic], () => {
          end()
          resolve()
        })
        write(join(root, 'plugins/one'), changed)
      })
  }
}

/** Runs a module and returns what it draws. */
async function drawn({ text }: PageModule): Promise<string> {
  const { mount } = await import(`data:text/javascript,${encodeURIComponent(text)}`)
  const root = { text: '' }
  mount(root)
  return root.text
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

t.test('a page from source is compiled when it is loaded, and has the hash of its text', async t => {
  const { chat, root } = await open(t, { files: { 'plugins/one/page/chat.ts': 'export const mount = = 1' } })
  write(root, { 'page/chat.ts': page('later') })
  // Older than the resolution of file times, within which a change could be missed.
  for (const path of ['page/chat.ts', 'page/suffix.ts']) utimesSync(join(root, path), 1_000_000, 1_000_000)
  const loaded = await chat().load()
  t.equal(await drawn(loaded), 'later!', 'the start did not read the page')
  t.equal(loaded.hash, sha256(loaded.text))
  t.equal(await chat().load(), loaded, 'an unchanged page is not compiled again')
  t.notOk(existsSync(join(root, 'dist')), 'nothing is written')
})

t.test('a saved page or file of it is announced and has a new hash; the plugin is not reloaded', async t => {
  const { chat, save, project } = await open(t)
  const [first, unit] = [await chat().load(), project.kernel.current.units.get('one')]
  await save({ 'page/chat.ts': page('bye') })
  const second = await chat().load()
  t.equal(await drawn(second), 'bye!')
  t.not(second.hash, first.hash)
  await save({ 'page/suffix.ts': "export const suffix = '?'" })
  t.equal(await drawn(await chat().load()), 'bye?')
  t.equal(project.kernel.current.units.get('one'), unit)
})

t.test('without a watcher, a load returns the current files, too', async t => {
  const { chat, root } = await open(t, { watch: false })
  t.equal(await drawn(await chat().load()), 'hello!')
  write(root, { 'page/suffix.ts': "export const suffix = ' there'" })
  t.equal(await drawn(await chat().load()), 'hello there')
})

t.test('concurrent loads share the work', async t => {
  const { chat } = await open(t)
  const [first, second] = await Promise.all([chat().load(), chat().load()])
  t.equal(first, second)
})

t.test('a broken page is a finding of its plugin, which serves on, until it is repaired', async t => {
  const { chat, save, project, root, lines } = await open(t)
  await chat().load()
  await save({ 'page/chat.ts': `${page('x')}\nconst broken = = 1` })
  await t.rejects(chat().load(), { code: 'LDR_BUILD_FAILED', message: /^page chat: .*chat\.ts:3:16: / })
  await t.rejects(chat().load(), { code: 'LDR_BUILD_FAILED' })
  const file = join(root, 'page/chat.ts')
  t.match(project.admin.findings(), [
    { plugin: 'one', severity: 'warning', code: 'LDR_BUILD_FAILED', message: /^page chat: /, location: file }
  ])
  t.match(project.admin.why('one').join('\n'), /one is active\nwarning: page chat: .*chat\.ts:3:16: /)
  t.match(await project.admin.validate(), [{ severity: 'warning', message: /^page chat: / }])
  t.equal(lines.filter(({ message }) => message.startsWith('page chat: ')).length, 1, 'it is logged once')
  await save({ 'page/chat.ts': page('again') })
  t.equal(await drawn(await chat().load()), 'again!')
  t.same(project.admin.findings(), [])
  t.match(lines.at(-1), { level: 'info', message: /no longer reported/ })
})

t.test('a page that imports a missing file works once the file exists', async t => {
  const { chat, save } = await open(t, {
    files: {
      'plugins/one/page/chat.ts': "import { word } from './word.ts'\nexport const mount = root => (root.text = word)"
    }
  })
  await t.rejects(chat().load(), { code: 'LDR_BUILD_FAILED', message: /word\.ts/ })
  await save({ 'page/word.ts': "export const word = 'found'" })
  t.equal(await drawn(await chat().load()), 'found')
})

t.test('a page that package.json adds needs no restart', async t => {
  const { project, root, chat } = await open(t)
  const first = project.kernel.current.units.get('one')
  write(root, {
    'package.json': packaged({ chat: './page/chat.ts', more: './page/more.ts' }),
    'page/more.ts': "export const mount = root => (root.text = 'more')"
  })
  await project.reconfigure()
  const unit = project.kernel.current.units.get('one')
  t.not(unit, first)
  t.same([...(unit?.pages.keys() ?? [])], ['chat', 'more'])
  t.equal(await drawn((await unit?.pages.get('more')?.load()) as PageModule), 'more')
  t.equal(await drawn(await chat().load()), 'hello!')
})

t.test('a built plugin serves the built file, and a new build is announced', async t => {
  const { chat, save, root } = await open(t, { fromSource: false, build: true })
  const loaded = await chat().load()
  t.equal(loaded.text, readFileSync(join(root, 'dist/page/chat.js'), 'utf8'))
  t.equal(loaded.hash, sha256(loaded.text))
  await save({ 'dist/page/chat.js': "export const mount = root => (root.text = 'built')" })
  t.equal(await drawn(await chat().load()), 'built')
})

t.test('a built plugin without its page file serves, and the page says what to do', async t => {
  const { chat, root, project } = await open(t, { fromSource: false, build: true })
  rmSync(join(root, 'dist/page'), { recursive: true })
  const file = join(root, 'dist/page/chat.js')
  await t.rejects(chat().load(), {
    code: 'LDR_ENTRY_INVALID',
    message: `page chat: cannot read ${file}: ENOENT: no such file or directory, stat '${file}'`,
    hint: 'build the plugin'
  })
  t.match(project.admin.findings(), [{ plugin: 'one', code: 'LDR_ENTRY_INVALID' }])
})

t.test('an isolated plugin has pages, which run no code of it in the host', async t => {
  const { chat, project } = await open(t, {
    files: { 'svc.toml': '[plugins.one]\nisolation = "process"\n' },
    watch: false
  })
  t.equal(project.admin.plugins().find(({ name }) => name === 'one')?.isolation, 'process')
  t.equal(await drawn(await chat().load()), 'hello!')
})
