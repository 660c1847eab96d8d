import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { SearchSource } from '@svc/contracts'
import type { Plugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { ProjectIndex, SourceIndexer, SourceStore } from '#indexing'
import { indexOperation, indexStateOperation, queryOperation } from '#root'
import { DEFAULTS, indexProject } from './index-project.ts'
import { openSearch } from './open-search.ts'

type Test = Parameters<typeof indexProject>[0]
const SETTINGS = { index_max_file_bytes: 1_000, index_step_ms: 20_000 }
const never = new AbortController().signal

async function sourceIndex(t: Test, settings = SETTINGS) {
  const { database } = await indexProject(t)
  const indexer = new SourceIndexer({ store: new SourceStore(database), settings: () => settings })
  const run = async (source: SearchSource, full = false) => (await indexer.index([source], { full, signal: never }))[0]
  const texts = async (): Promise<Record<string, string>> => {
    const { rows } = await database.query(
      `SELECT d.source_uri, c.body_text FROM search_documents AS d JOIN search_document_chunks AS c
        ON c.document_id = d.id UNION SELECT id, content FROM knowledge_nodes ORDER BY 1`
    )
    return Object.fromEntries(rows.map(([uri, text]) => [String(uri), String(text)]))
  }
  return { database, indexer, run, texts }
}

/** Source of a table of texts. The version of a document is its text. */
function sourceOf(texts: ReadonlyMap<string, string>, more: Partial<SearchSource> = {}): SearchSource {
  return {
    name: 'wiki',
    list: async () => [...texts].map(([key, text]) => ({ key, version: text })),
    read: async key => {
      const text = texts.get(key)
      return text === undefined ? null : { title: key, text }
    },
    ...more
  }
}

t.test('after any changes, the index has the documents of the source and reads only changed ones', async t => {
  const { run, texts } = await sourceIndex(t)
  const state = fc.dictionary(
    fc.constantFrom('a', 'b', 'k'.repeat(2_048), "d'☃"),
    fc.constantFrom('one', 'two', 'three'),
    {
      noNullPrototype: true
    }
  )
  const corpus = fc.constantFrom<SearchSource['corpus']>('document_chunks', 'knowledge_graph')
  let before: readonly [Record<string, string>, SearchSource['corpus']] = [{}, undefined]
  const check = async (wanted: Record<string, string>, corpus: SearchSource['corpus']): Promise<void> => {
    const report = await run(sourceOf(new Map(Object.entries(wanted)), { corpus: corpus ?? 'document_chunks' }))
    t.same(await texts(), Object.fromEntries(Object.entries(wanted).map(([key, text]) => [`wiki:${key}`, text])))
    const [old, oldCorpus] = before
    const changed = Object.keys(wanted).filter(key => old[key] !== wanted[key] || oldCorpus !== corpus)
    const removed = Object.keys(old).filter(key => !(key in wanted))
    t.match(report, { indexed: changed.length, removed: removed.length, skipped: {}, problem: null })
    before = [wanted, corpus]
  }
  await fc.assert(fc.asyncProperty(state, corpus, check), { numRuns: 25 })
})

t.test('documents that cannot be indexed are counted by reason, and read again if that may help', async t => {
  const { run, texts } = await sourceIndex(t)
  const read = async (key: string): Promise<never> => {
    if (key === 'broken') throw new Error('no access')
    const documents: Record<string, unknown> = {
      gone: null,
      empty: { title: '', text: ' \n' },
      large: { title: '', text: 'x'.repeat(1_001) },
      shapeless: { text: 1 },
      strange: { title: '\0', text: 'half \ud800 and \0 zero' }
    }
    return documents[key] as never
  }
  const keys = ['broken', 'empty', 'gone', 'large', 'shapeless', 'strange']
  const source = sourceOf(new Map(), { read, list: async () => keys.map(key => ({ key, version: '1' })) })
  const skipped = { unreadable: 1, empty: 1, too_large: 1, malformed: 1 }
  t.match(await run(source), { documents: 6, indexed: 1, skipped, problem: null })
  t.same(await texts(), { 'wiki:strange': 'half � and   zero' })
  const again: string[] = []
  const noted = async (key: string): Promise<never> => {
    again.push(key)
    return read(key)
  }
  await run({ ...source, read: noted })
  t.same(again, ['broken', 'gone', 'large'])
})

t.test('a source that fails, hangs or lists nonsense keeps its documents, and the others are indexed', async t => {
  const { indexer, run, texts } = await sourceIndex(t, { ...SETTINGS, index_step_ms: 30 })
  const good = sourceOf(new Map([['a', 'alpha']]))
  await run(good)
  const hang = () => new Promise<never>(() => undefined)
  const lists: SearchSource['list'][] = [
    async () => {
      throw new Error('no server')
    },
    hang,
    async () => 'nothing' as never,
    async () => [{ key: '', version: '1' }],
    async () => [{ key: 'a', version: '\0' }],
    async () => [{ key: 'k'.repeat(2_049), version: '1' }],
    async () => [{ key: '\ud800', version: '1' }]
  ]
  for (const list of lists) {
    const other = sourceOf(new Map([['b', 'beta']]), { name: 'other' })
    const [failed, indexed] = await indexer.index([{ ...good, list }, other], { full: true, signal: never })
    t.match(failed, { indexed: 0, removed: 0, problem: String })
    t.match(indexed, { indexed: 1, problem: null })
    t.same(await texts(), { 'other:b': 'beta', 'wiki:a': 'alpha' })
  }
  for (const name of ['repo', 'Wiki', 'a:b', ''])
    t.match(await run({ ...good, name }), { problem: /its name must be/ }, name)
  const many = new Map(Array.from({ length: 9 }, (_, at) => [`k${at}`, 'text']))
  const report = await run(sourceOf(many, { name: 'slow', read: hang }))
  t.match(report, { indexed: 0, skipped: { timed_out: 2 }, problem: /3 documents in a row .*; 6 were not read/ })
})

t.test('an aborted run keeps what is written, and the next one continues', async t => {
  const { indexer, run, texts } = await sourceIndex(t)
  const many = new Map(Array.from({ length: 100 }, (_, at) => [`k${at}`, 'text']))
  const stop = new AbortController()
  const onProgress = (): void => stop.abort(new Error('stopped'))
  await t.rejects(indexer.index([sourceOf(many)], { full: false, signal: stop.signal, onProgress }), {
    message: 'stopped'
  })
  t.equal(Object.keys(await texts()).length, 64)
  t.match(await run(sourceOf(many)), { indexed: 36, documents: 100 })
})

t.test('sources of a plugin from another folder are indexed, found, and removed with their documents', async t => {
  const folder = t.testdir({
    'plugin.ts': `
      import { searchSources } from '@svc/contracts'
      import { definePlugin } from '@svc/plugin-sdk'
      const pages = { tapir: '# Tapir\\n\\nThe tapir swims.', lease: 'A claim on a task.' }
      const list = async () => Object.keys(pages).map(key => ({ key, version: '1' }))
      const read = async key => ({ title: key, text: pages[key], format: 'markdown' })
      export default definePlugin({
        name: 'wiki',
        contributes: [searchSources],
        activate(ctx) {
          ctx.contribute(searchSources, { name: 'wiki', list, read })
          ctx.contribute(searchSources, { name: 'glossary', corpus: 'knowledge_graph', list, read })
        }
      })`
  })
  const { default: wiki } = (await import(pathToFileURL(`${folder}/plugin.ts`).href)) as { default: Plugin }
  const { kernel, service } = await openSearch(t, { plugins: [wiki] })
  const { sources } = await kernel.call(indexOperation, {})
  t.match(sources, [
    { name: 'wiki', documents: 2, indexed: 2, problem: null },
    { name: 'glossary', documents: 2, indexed: 2, problem: null }
  ])
  t.same((await kernel.call(indexStateOperation, {})).sources, { glossary: 2, wiki: 2 })
  const { knowledge_lines, chunk_lines } = await kernel.call(queryOperation, { query: 'tapir swims' })
  t.same(knowledge_lines, ['[node:glossary:tapir] tapir — # Tapir The tapir swims.'])
  t.match(chunk_lines, [/^\[chunk:\d+ title:tapir\] # Tapir/])
  const request = { query: 'tapir', corpora: ['document_chunks'], verify: false } as const
  t.match(await service.query(request, never), { hits: [{ provenance: 'wiki:tapir', title: 'tapir' }] })
  t.match(await service.query({ ...request, exclude: ['wiki:'] }, never), { hits: { length: 0 } })
})

t.test('a process that serves follows the changes of sources, and removes those of plugins that are gone', async t => {
  const bed = await indexProject(t)
  const texts = new Map([['a', 'alpha']])
  let report = (): void => undefined
  const source = sourceOf(texts, {
    watch(changed) {
      report = changed
      return () => undefined
    }
  })
  let sources: SearchSource[] = [source]
  let skipped: string[] = []
  const index = new ProjectIndex({
    projectRoot: bed.root,
    database: bed.database,
    settings: () => ({ ...DEFAULTS, index_step_ms: 20_000, index_watch: true, index_skip_sources: skipped }),
    serves: true,
    sources: () => sources,
    completeVectors: async () => 0,
    onChange: () => undefined,
    log: { debug() {}, info() {}, warn() {}, error() {} } as never
  })
  t.teardown(() => index.close())
  const finds = async (word: string, count: number): Promise<void> => {
    const sql = 'SELECT COUNT(*) FROM search_document_chunks_fts WHERE search_document_chunks_fts MATCH ?'
    while ((await bed.database.query(sql, [word])).rows[0]?.[0] !== count) await sleep(20)
  }
  await index.index({ full: false, signal: never })
  await finds('alpha', 1)
  texts.set('b', 'beta')
  report()
  await finds('beta', 1)
  texts.delete('a')
  report()
  await finds('alpha', 0)
  sources = [sourceOf(new Map([['c', 'gamma']]), { name: 'later' })]
  index.sourcesChanged()
  await finds('gamma', 1)
  await finds('beta', 0)
  skipped = ['later']
  t.match(await index.index({ full: false, signal: never }), { sources: [] })
  await finds('gamma', 0)
  skipped = []
  index.sourcesChanged()
  await finds('gamma', 1)
  skipped = ['later']
  index.sourcesChanged()
  await finds('gamma', 0)
})
