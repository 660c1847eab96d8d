import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { walk } from '#indexing'
import { indexProject, project } from './index-project.ts'

const NO_STEP = (): void => undefined
const list = (root: string, maxFiles = 100, skipDirs: readonly string[] = ['.git']) =>
  walk({ kind: 'walk', root, folder: '', maxFiles, skipDirs }, NO_STEP)
const paths = (root: string) => list(root).files.map(({ path }) => path)

t.test('the walk follows the rules of git: nested files, negations, folders and the exclude file', async t => {
  const { root, write } = project(t)
  write({
    '.gitignore': '*.log\n/build/\n!keep.log\nsub/secret*\n',
    '.git/info/exclude': 'private.md\n',
    'a.log': '1',
    'keep.log': '1',
    'private.md': '1',
    'build/x.ts': '1',
    'sub/build/x.ts': '1',
    'sub/secret.md': '1',
    'sub/.gitignore': '!deep.log\n*.tmp\n',
    'sub/deep.log': '1',
    'sub/x.tmp': '1',
    'x.tmp': '1'
  })
  t.same(paths(root), ['.gitignore', 'keep.log', 'x.tmp', 'sub/.gitignore', 'sub/deep.log', 'sub/build/x.ts'])
  t.same(paths(join(root, 'sub')), ['.gitignore', 'deep.log', 'build/x.ts'], 'rules above the project count')
})

t.test('links, protected files and skipped folders are left out, and a loop of links ends', async t => {
  const { root, write } = project(t)
  write({
    'a.ts': '1',
    'node_modules/b.ts': '1',
    '.env': 'KEY=1',
    'prod.env': 'KEY=1',
    '.envrc': 'KEY=1',
    'sub/c.ts': '1'
  })
  symlinkSync('..', join(root, 'sub', 'loop'))
  symlinkSync('/etc/hostname', join(root, 'link.ts'))
  const { files, skipped, folders } = list(root, 100, ['node_modules'])
  t.same(
    files.map(({ path }) => path),
    ['a.ts', 'sub/c.ts']
  )
  t.same(folders, ['', 'sub'])
  t.same(skipped, { link: 2, protected: 3, ignored: 1 })
})

t.test('the walk ends at its limit, and says so', async t => {
  const { root, write } = project(t)
  write(Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}.ts`, '1'])))
  t.match(list(root, 30), { truncated: false, files: { length: 30 } })
  t.match(list(root, 29), { truncated: true, files: { length: 29 } })
})

t.test('files are indexed by lines, Markdown by headings, HTML by its text', async t => {
  const { write, run, find, database } = await indexProject(t)
  write({
    'src/a.ts': `${'// filler line\n'.repeat(200)}export function findZebra() {}\n`,
    'docs/guide.md': `# Guide\n\nThe quokka.\n`,
    'docs/page.html': '<title>Page</title><p>An axolotl &amp; more</p>'
  })
  t.match(await run(), { files: 3, indexed: 3, unchanged: 0, removed: 0, truncated: false })
  t.match((await find('findZebra'))[0], /^repo:src\/a\.ts:1\d\d$/)
  t.same(await find('quokka'), ['repo:docs/guide.md:1'])
  t.same(await find('axolotl'), ['repo:docs/page.html:-'])
  const { rows } = await database.query('SELECT title, mime_type FROM search_documents ORDER BY source_uri')
  t.same(rows, [
    ['Guide', 'text/markdown'],
    ['Page', 'text/html'],
    ['src/a.ts', 'text/plain']
  ])
})

t.test('only changed files are read again, and gone ones are removed', async t => {
  const { root, write, run, find, store } = await indexProject(t)
  write({ 'a.md': 'one alpha', 'b.md': 'two beta', 'c.md': 'three gamma' })
  await run()
  const stored = async () => [...(await store.known())].map(([path, { hash }]) => `${path} ${hash.slice(0, 8)}`)
  const before = await stored()
  t.match(await run(), { indexed: 0, unchanged: 3, removed: 0, chunks: 0 })
  t.same(await stored(), before)

  write({ 'a.md': 'one delta' })
  // A change of the time only is no change.
  utimesSync(join(root, 'b.md'), 1_000, 1_000)
  rmSync(join(root, 'c.md'))
  t.match(await run(), { indexed: 1, unchanged: 1, removed: 1 })
  t.same(await find('alpha'), [])
  t.same(await find('delta'), ['repo:a.md:1'])
  t.same(await find('gamma'), [])
  t.match(await run(true), { indexed: 2, unchanged: 0 }, 'a full run reads all files')
})

t.test('the index keeps its files while the folder of the project cannot be read', async t => {
  const { root, write, run, find, store } = await indexProject(t)
  write({ 'a.md': 'alpha' })
  await run()
  renameSync(root, `${root}-away`)
  await t.rejects(run(), { code: 'SRH_FILE_UNREADABLE', message: /the project cannot be read/ })
  t.match(await store.lastJob(), { status: 'failed' })
  renameSync(`${root}-away`, root)
  t.same(await find('alpha'), ['repo:a.md:1'])
  t.match(await run(), { unchanged: 1, removed: 0 })
})

t.test('a file that is ignored from now on leaves the index', async t => {
  const { write, run, find } = await indexProject(t)
  write({ 'a.md': 'alpha', 'notes/b.md': 'beta' })
  await run()
  write({ '.gitignore': 'notes/\n' })
  t.match(await run(), { removed: 1 })
  t.same(await find('beta'), [])
})

t.test('binary, huge, foreign and empty files are left out with a reason', async t => {
  const { write, run, store } = await indexProject(t)
  write({
    'a.bin': new Uint8Array([1, 0, 2]),
    'late.txt': `${'x'.repeat(20_000)}\0`,
    'big.txt': 'x'.repeat(100_001),
    'latin.txt': new Uint8Array([0x67, 0xfc, 0x6e]),
    'empty.txt': ' \n\n',
    'good.txt': 'good'
  })
  const skipped = { binary: 2, too_large: 1, not_utf8: 1, empty: 1 }
  t.match(await run(), { files: 6, indexed: 1, skipped })
  t.same((await store.counts()).skipped, skipped)
  t.match(await run(), { indexed: 0, unchanged: 6 })
})

t.test('a file that becomes unfit loses its passages', async t => {
  const { write, run, find } = await indexProject(t)
  write({ 'a.txt': 'alpha' })
  await run()
  write({ 'a.txt': 'alpha\0' })
  t.match(await run(), { indexed: 0, skipped: { binary: 1 } })
  t.same(await find('alpha'), [])
})

t.test('a file that vanishes after it was listed is removed', async t => {
  const { root, write, run, find, thread } = await indexProject(t)
  write({ 'a.md': 'alpha', 'b.md': 'beta' })
  await run()
  write({ 'a.md': 'alpha again' })
  const read = thread.read.bind(thread)
  thread.read = request => {
    rmSync(join(root, 'a.md'), { force: true })
    return read(request)
  }
  t.match(await run(), { removed: 1, skipped: { gone: 1 } })
  t.same(await find('alpha'), [])
  t.same(await find('beta'), ['repo:b.md:1'])
})

t.test('a page that hangs its parser is left out, and the other files are indexed', async t => {
  const { write, run, find, store } = await indexProject(t, { index_max_file_bytes: 50_000_000 }, { stepMs: 1_500 })
  // Each closing tag searches all open ones.
  write({ 'bomb.html': '<div>'.repeat(512) + '</i>'.repeat(10_000_000), 'a.md': 'alpha', 'z.md': 'omega' })
  t.match(await run(), { indexed: 2, skipped: { timed_out: 1 } })
  t.same((await store.counts()).skipped, { timed_out: 1 })
  t.same(await find('omega'), ['repo:z.md:1'])
})

t.test('rules with many stars are matched in time', async t => {
  const { root, write } = project(t)
  write({ '.gitignore': `${'*a'.repeat(20)}*c\n`, [`${'a'.repeat(100)}.ts`]: '1', [`${'a'.repeat(100)}c`]: '1' })
  t.same(paths(root), ['.gitignore', `${'a'.repeat(100)}.ts`])
})

t.test('an aborted run keeps what is written, and the next one continues', async t => {
  const { write, indexer, run, store } = await indexProject(t)
  write(Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}.md`, `word${at}`])))
  const stop = new AbortController()
  const original = store.write.bind(store)
  store.write = async (files, now) => {
    await original(files, now)
    stop.abort(new Error('stopped'))
  }
  await t.rejects(indexer.index({ full: false, signal: stop.signal }), { message: 'stopped' })
  t.match(await store.lastJob(), { status: 'cancelled' })
  const { documents } = await store.counts()
  t.ok(documents >= 64 && documents < 200)
  store.write = original
  t.match(await run(), { indexed: 200 - documents, unchanged: documents })
})

t.test('single paths are updated: new, changed, gone, ignored, and whole folders', async t => {
  const { root, write, indexer, run, find } = await indexProject(t)
  const update = (...changed: string[]) => indexer.update(changed, new AbortController().signal)
  write({ 'a.md': 'alpha', 'sub/b.md': 'beta', '.gitignore': '*.log\nout/\n' })
  await run()
  write({ 'a.md': 'delta', 'c.md': 'gamma', 'x.log': 'alpha', 'out/d.md': 'alpha' })
  t.same(await update('a.md', 'c.md', 'x.log', 'out', 'out/d.md'), [])
  t.same(await find('alpha'), [])
  t.same([...(await find('delta')), ...(await find('gamma'))], ['repo:a.md:1', 'repo:c.md:1'])

  renameSync(join(root, 'sub'), join(root, 'moved'))
  mkdirSync(join(root, 'moved', 'deep'))
  writeFileSync(join(root, 'moved', 'deep', 'e.md'), 'epsilon')
  t.same(await update('sub', 'moved'), ['moved', 'moved/deep'])
  t.same(await find('beta'), ['repo:moved/b.md:1'])
  t.same(await find('epsilon'), ['repo:moved/deep/e.md:1'])
})
