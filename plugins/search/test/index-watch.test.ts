import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ProjectIndex } from '#indexing'
import { indexOperation, indexStateOperation, queryOperation } from '#root'
import { DEFAULTS, indexProject } from './index-project.ts'
import { openSearch } from './open-search.ts'

const LOG = { debug() {}, info() {}, warn() {}, error() {} }

async function watched(t: Test, databaseInProject = false) {
  const bed = await indexProject(t, {}, { databaseInProject })
  const open = (): ProjectIndex =>
    new ProjectIndex({
      projectRoot: bed.root,
      database: bed.database,
      settings: () => ({ ...DEFAULTS, index_step_ms: 20_000, index_watch: true, index_skip_sources: [] }),
      serves: true,
      sources: () => [],
      completeVectors: async () => 0,
      onChange: () => undefined,
      log: LOG as never
    })
  const finds = async (word: string, ...documents: string[]): Promise<void> => {
    for (;;) {
      const found = await bed.find(word)
      if (JSON.stringify(found) === JSON.stringify(documents)) return
      await sleep(20)
    }
  }
  return { ...bed, open, finds }
}
type Test = Parameters<typeof indexProject>[0]

t.test('saved, new, moved and removed files change the index while a process serves', async t => {
  const { root, write, open, finds } = await watched(t)
  write({ 'a.md': 'alpha', 'sub/b.md': 'beta', '.gitignore': 'out/\n' })
  const index = open()
  t.teardown(() => index.close())
  await index.index({ full: false, signal: new AbortController().signal })
  t.match(await index.state(), { documents: 3, watchedFolders: 2, watchProblem: null })

  write({ 'a.md': 'delta', 'out/c.md': 'beta' })
  await finds('delta', 'repo:a.md:1')
  await finds('alpha')
  mkdirSync(join(root, 'new', 'deep'), { recursive: true })
  writeFileSync(join(root, 'new', 'deep', 'd.md'), 'epsilon')
  await finds('epsilon', 'repo:new/deep/d.md:1')
  writeFileSync(join(root, 'new', 'deep', 'd.md'), 'zeta')
  await finds('zeta', 'repo:new/deep/d.md:1')
  renameSync(join(root, 'sub'), join(root, 'moved'))
  await finds('beta', 'repo:moved/b.md:1')
  rmSync(join(root, 'new'), { recursive: true })
  await finds('zeta')
  // Files that are ignored no longer come in.
  writeFileSync(join(root, '.gitignore'), 'moved/\n')
  await finds('beta', 'repo:out/c.md:1')
})

t.test('a process that starts to serve reads what has changed before it', async t => {
  const { write, open, finds, run } = await watched(t)
  write({ 'a.md': 'alpha' })
  await run()
  write({ 'a.md': 'delta' })
  const index = open()
  t.teardown(() => index.close())
  await index.resume()
  await finds('delta', 'repo:a.md:1')
  write({ 'b.md': 'gamma' })
  await finds('gamma', 'repo:b.md:1')
})

t.test('a database in the project is not read again after each update of the index', async t => {
  const { write, open, finds, store } = await watched(t, true)
  write({ 'a.md': 'alpha' })
  const index = open()
  t.teardown(() => index.close())
  await index.index({ full: false, signal: new AbortController().signal })
  const readAt = async () => [...(await store.known(['index.db', 'index.db-wal'])).values()].map(file => file.readAtMs)
  const before = await readAt()
  t.equal(before.length, 2)
  for (const word of ['beta', 'gamma', 'delta']) {
    write({ 'a.md': word })
    await finds(word, 'repo:a.md:1')
  }
  t.same(await readAt(), before)
})

t.test('without an index, a process that serves makes none', async t => {
  const { write, open, database } = await watched(t)
  write({ 'a.md': 'alpha' })
  const index = open()
  t.teardown(() => index.close())
  await index.resume()
  t.same((await database.query('SELECT COUNT(*) FROM search_documents')).rows, [[0]])
  t.same((await database.query("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'search_index_files'")).rows, [[0]])
})

t.test('a closed index refuses work, and a run in progress ends', async t => {
  const { write, open } = await watched(t)
  write(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}.md`, `word${at}`])))
  const index = open()
  const running = index.index({ full: false, signal: new AbortController().signal })
  await index.close()
  await t.rejects(running, { code: 'SRH_INDEX_CLOSED' })
  await t.rejects(index.index({ full: false, signal: new AbortController().signal }), { code: 'SRH_INDEX_CLOSED' })
})

t.test('operations index the project, show the state, and queries find its passages', async t => {
  const { kernel, write } = await openSearch(t)
  write({ 'docs/guide.md': '# Guide\n\nThe quokka lives here.\n', 'secret.pem': 'quokka', 'x.bin': 'quokka\0' })
  t.match(await kernel.call(indexStateOperation, {}), { documents: 0, job: null, watched_folders: 0 })
  const progress: number[] = []
  const report = await kernel.call(indexOperation, {}, {
    onProgress: (done: number) => void progress.push(done)
  } as never)
  t.match(report, { files: 2, indexed: 1, skipped: { binary: 1, protected: 1 }, truncated: false })
  t.same(progress, [0, 2])
  t.match(await kernel.call(indexStateOperation, {}), {
    documents: 1,
    skipped: { binary: 1 },
    job: { status: 'done', done: 2, total: 2 }
  })
  t.equal(kernel.changes('search.index'), 1)
  const { hits } = await kernel.call(queryOperation, { query: 'quokka', corpora: ['document_chunks'] })
  t.match(hits, [{ title: 'docs/guide.md: Guide', line: 1, text: /quokka lives/ }])
})
