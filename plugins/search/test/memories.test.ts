import t from 'tap'
import {
  forgetKnowledge,
  forgetMemory,
  listKnowledge,
  listMemories,
  queryKnowledge,
  queryRepoFile,
  queryRepoText,
  recallMemory,
  searchMemories,
  storeKnowledge,
  storeMemory
} from '#operations'
import { Library, Memories, memoryScanTier, memoryTier, queryOperation } from '#root'
import { openSearch } from './open-search.ts'

const DAY = 86_400_000
const request = { terms: ['zebra'], query: 'zebra', intent: 'factual_lookup', mode: 'hybrid', limit: 8 } as const
const { signal } = new AbortController()

t.test('a stored note is found, replaced and removed', async t => {
  const { kernel } = await openSearch(t)
  const note = { key: 'animals/zebra', title: 'Zebra', body: 'The zebra has stripes.', source: 'zoo.md' }
  t.match(await kernel.call(storeMemory, note), { key: 'animals/zebra', status: 'current' })
  const { lines } = await kernel.call(searchMemories, { query: 'zebra' })
  t.match(lines, [
    /^\[animals\/zebra\] The zebra has stripes\. \(score 0\.\d{3}; provenance zoo\.md; contradiction none\)$/
  ])
  await kernel.call(storeMemory, { ...note, body: 'Replaced.' })
  t.match(await kernel.call(recallMemory, { key: note.key }), { body: 'Replaced.' })
  t.same((await kernel.call(queryOperation, { query: 'stripes', corpora: ['memory'] })).memory_lines, [])
  await kernel.call(storeMemory, { key: 'plan', body: 'x' })
  t.match(await kernel.call(listMemories, { prefix: 'animals/' }), { memories: [{ key: 'animals/zebra' }] })
  t.same(await kernel.call(forgetMemory, { key: note.key }), { removed: true })
  t.same(await kernel.call(forgetMemory, { key: note.key }), { removed: false })
  await t.rejects(kernel.call(recallMemory, { key: note.key }), { code: 'SRH_MEMORY_UNKNOWN' })
  for (const wrong of [{ key: 'a]b' }, { key: 'a\0b' }, { body: 'a\0b' }, { title: '\0' }, { source: '\0' }])
    await t.rejects(kernel.call(storeMemory, { ...note, ...wrong }), { code: 'OPR_INPUT_INVALID' })
  t.same(await kernel.call(queryKnowledge, { query: 'zebra' }), { lines: [], hits: [] })
})

t.test('a node of the knowledge graph is stored, found, replaced, listed and removed with its edges', async t => {
  const { kernel, store } = await openSearch(t)
  const node = { id: 'lease', content: 'A claim on a task.' }
  t.match(await kernel.call(storeKnowledge, node), { ...node, label: 'lease', node_type: 'concept' })
  t.match(await kernel.call(queryKnowledge, { query: 'claim' }), { lines: ['[node:lease] lease — A claim on a task.'] })
  await kernel.call(storeKnowledge, { ...node, content: 'Something else.', label: 'Lease' })
  t.same((await kernel.call(queryKnowledge, { query: 'claim' })).hits, [])
  t.match(await kernel.call(listKnowledge, { prefix: 'l' }), { nodes: [{ id: 'lease', label: 'Lease' }] })
  t.same(await kernel.call(listKnowledge, { prefix: 'x' }), { nodes: [] })
  // Ids of sources have a colon, so a stored node cannot replace one.
  for (const wrong of [{ id: 'wiki:a' }, { id: 'a\u001bb' }, { content: 'a\0b' }, { label: '\0' }])
    await t.rejects(kernel.call(storeKnowledge, { ...node, ...wrong }), { code: 'OPR_INPUT_INVALID' })
  await store.execute("INSERT INTO knowledge_edges (src_id, dst_id, relation) VALUES ('lease', 'task', 'claims')")
  t.same(await kernel.call(forgetKnowledge, { id: 'lease' }), { removed: true })
  t.same(await kernel.call(forgetKnowledge, { id: 'lease' }), { removed: false })
  t.same((await store.query('SELECT COUNT(*) FROM knowledge_edges')).rows, [[0]])
})

t.test('the score of a note is BM25 x status x age, with the parameters of the settings', async t => {
  const { store } = await openSearch(t)
  let now = 1_000 * DAY
  const library = new Library(() => store)
  const memories = new Memories(library, () => now)
  const note = { title: '', source: '' }
  await memories.store({ ...note, key: 'old', body: 'zebra', status: 'draft' })
  now += 180 * DAY
  await memories.store({ ...note, key: 'current', body: 'zebra', status: 'current' })
  await memories.store({ ...note, key: 'legacy', body: 'zebra', status: 'legacy' })
  await memories.store({ ...note, key: 'other', body: 'a quagga', status: 'current' })
  await library.open()
  const hits = await memoryTier(
    library,
    () => ({ k1: 1.2, b: 0.75 }),
    () => now
  ).query(request, signal)
  const scores = Object.fromEntries(hits.map(({ key, score }) => [key, score]))
  // 4 notes, 3 with the word, mean length 1.25: ln(1 + 1.5 / 3.5) x 2.2 / (1 + 1.2 x (0.25 + 0.75 / 1.25)).
  const base = (Math.log(1 + 1.5 / 3.5) * 2.2) / (1 + 1.2 * 0.85)
  const near = (key: string, factor: number) => t.ok(Math.abs((scores[key] ?? 0) - base * factor) < 1e-9, key)
  near('current', 1.2)
  near('legacy', 0.2)
  near('old', 0.5)
  t.equal(scores.other, undefined)
  const flat = await memoryTier(
    library,
    () => ({ k1: 2, b: 0 }),
    () => now
  ).query(request, signal)
  t.ok(Math.abs((flat.find(({ key }) => key === 'current')?.score ?? 0) - 1.2 * Math.log(1 + 1.5 / 3.5)) < 1e-9)
})

t.test('without full-text search, notes are scanned without rank', async t => {
  const { store } = await openSearch(t)
  const proxied = new Proxy(store, {
    get(target, name) {
      if (name === 'capabilities') return async () => ({ ...(await target.capabilities()), fts: false })
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    }
  })
  const library = new Library(() => proxied)
  const memories = new Memories(library, () => 0)
  await memories.store({ key: 'a', title: 'Zebra', body: '', status: 'current', source: '' })
  await memories.store({ key: 'b', title: 'Quagga', body: '', status: 'current', source: '' })
  await library.open()
  t.match(
    memoryTier(
      library,
      () => ({ k1: 1.2, b: 0.75 }),
      () => 0
    ).unavailable?.(),
    /no full-text search/
  )
  const scan = memoryScanTier(library, () => 0)
  t.equal(scan.unavailable?.(), null)
  t.match(await scan.query(request, signal), [{ key: 'a', score: 1.2 }])
})

t.test('files are found by words and by path, and read by lines', async t => {
  const { kernel, write } = await openSearch(t)
  write({ 'src/plan/planner.ts': 'one\ntwo zebra\nthree\n', '.env': 'zebra' })
  const { hits } = await kernel.call(queryRepoText, { query: 'where is the zebra' })
  t.match(hits, [{ path: 'src/plan/planner.ts', line: 1 }])
  await t.rejects(kernel.call(queryRepoText, { query: 'where is it' }), { code: 'SRH_QUERY_INVALID' })
  t.match(await kernel.call(queryRepoFile, { path: 'src/plan/planner.ts', start: 2, lines: 1 }), {
    path: 'src/plan/planner.ts',
    text: 'two zebra',
    total_lines: 4,
    truncated: true
  })
  t.match(await kernel.call(queryRepoFile, { path: 'planner' }), {
    path: null,
    matches: [{ path: 'src/plan/planner.ts' }]
  })
  for (const path of ['.env', '../outside', 'nothing-like-it'])
    await t.rejects(kernel.call(queryRepoFile, { path }), { code: 'SRH_FILE_UNREADABLE' })
})
