import { pathToFileURL } from 'node:url'
import { type SearchTier, searchTiers } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { explainOperation, queryOperation, stateOperation } from '#root'
import { openSearch } from './open-search.ts'

const withTier = (...tiers: SearchTier[]): Plugin =>
  definePlugin({
    name: 'wiki',
    activate(ctx) {
      for (const tier of tiers) ctx.contribute(searchTiers, tier)
    }
  }) as Plugin

const tier = (fields: Partial<SearchTier>): SearchTier => ({
  name: 'wiki',
  corpus: 'knowledge_graph',
  query: async () => [],
  ...fields
})

t.test('finds files, documents and knowledge, and reports where they come from', async t => {
  const { kernel, store, write } = await openSearch(t)
  write({
    'src/backoff.ts': 'export function retryBackoff() {}\n',
    'node_modules/backoff/index.js': 'backoff',
    '.gitignore': 'node_modules\n'
  })
  await store.execute("INSERT INTO search_documents (id, source_uri, title) VALUES (1, 'docs/retry.md', 'Retries')")
  await store.execute(
    "INSERT INTO search_document_chunks (id, document_id, chunk_index, body_text) VALUES (7, 1, 0, 'Backoff doubles.')"
  )
  await store.execute("INSERT INTO knowledge_nodes (id, label, content) VALUES ('n1', 'Backoff', 'Waits longer.')")
  const found = await kernel.call(queryOperation, { query: 'backoff' })
  t.match(found, {
    retrieval_tier: 'bm25',
    search_intent: 'factual_lookup',
    selected_mode: 'hybrid',
    trigger: 'explicit_tool_query',
    knowledge_hit_count: 1,
    chunk_hit_count: 2,
    repo_hit_count: 1,
    memory_hit_count: 0,
    source_diversity: 3,
    citation_coverage: 3 / 8,
    evidence_quality: 0.7 + 0.3 * (3 / 8),
    used_bm25: true,
    used_vector: false,
    sqlite_attached: true,
    sqlite_fts5: true,
    knowledge_lines: ['[node:n1] Backoff — Waits longer.'],
    repo_lines: ['[repo:src/backoff.ts] src/backoff.ts'],
    rrf_fused_lines: [],
    search_diagnostics: { policy_version: 1, complete: true, warnings: [] }
  })
  t.same(found.backend_mix.toSorted(), ['chunk_fts', 'knowledge_fts', 'repo_path', 'repo_text'])
  t.match(
    found.chunk_lines.find(line => line.startsWith('[chunk:7')),
    '[chunk:7 title:Retries] Backoff doubles.'
  )
  const state = await kernel.call(stateOperation, {})
  t.match(state, { documents: 1, chunks: 1, knowledge_nodes: 1, memories: 0 })
})

t.test('files of the project are not read again once the index has them', async t => {
  const { kernel, store, write } = await openSearch(t)
  write({ 'src/zebra.ts': 'zebra' })
  await store.execute("INSERT INTO search_documents (id, source_uri) VALUES (1, 'repo:src/zebra.ts')")
  const { search_diagnostics } = await kernel.call(queryOperation, { query: 'zebra' })
  t.match(
    search_diagnostics.tiers.find(each => each.tier === 'repo_text'),
    { state: 'skipped', reason: 'the index has the files of the project' }
  )
})

t.test('a weak result is followed by a shorter query, and the better one is kept', async t => {
  const asked: string[] = []
  const weak = tier({
    async query({ query }) {
      asked.push(query)
      return query.includes('the') ? [] : [{ key: 'a', title: 'A', text: 'zebra', score: 0.9 }]
    }
  })
  const { service } = await openSearch(t, { plugins: [withTier(weak)] })
  const { signal } = new AbortController()
  const request = { query: 'tell about the zebra', corpora: ['knowledge_graph'] as const }
  const found = await service.query(request, signal)
  t.same(asked, ['tell about the zebra', 'zebra'], 'stop words are left out')
  t.match(found.evidence, {
    verificationPerformed: true,
    verificationReason: 'weak_evidence_quality',
    verificationQuery: 'zebra',
    recommendedNextAction: null
  })
  t.equal(found.hits.length, 1)
  asked.length = 0
  const only = await service.query({ ...request, verify: false }, signal)
  t.same(asked, ['tell about the zebra'])
  t.match(only.evidence, { verificationPerformed: false, verificationReason: null, recommendedNextAction: 'abstain' })
})

t.test('corrective searches use the words that were found, at most the number in the settings', async t => {
  const asked: string[] = []
  const weak = tier({
    async query({ query }) {
      asked.push(query)
      return [{ key: query, title: 'Striped horse', text: 'zebra', score: 0.1 }]
    }
  })
  const { service } = await openSearch(t, { plugins: [withTier(weak)], settings: { max_hops: 1 } })
  const { signal } = new AbortController()
  const request = { query: 'zebra quagga', corpora: ['knowledge_graph'] as const, verify: false, hops: 3 }
  const { hops } = await service.query(request, signal)
  t.same(hops, ['quagga', 'zebra', 'zebra quagga striped horse'])
  t.same(asked, ['zebra quagga', ...hops])
  asked.length = 0
  t.same((await service.query({ ...request, hops: 0 }, signal)).hops, [])
})

t.test('a tier of a plugin from another folder is searched, explained and removed with its plugin', async t => {
  const folder = t.testdir({
    'plugin.ts': `
      import { searchTiers } from '@svc/contracts'
      import { definePlugin } from '@svc/plugin-sdk'
      export default definePlugin({
        name: 'wiki',
        activate(ctx) {
          ctx.contribute(searchTiers, {
            name: 'wiki',
            corpus: 'knowledge_graph',
            query: async ({ terms }) =>
              terms.includes('zebra') ? [{ key: 'w1', title: 'Zebra', text: 'Stripes.', score: 0.8, factors: ['by hand'] }] : []
          })
        }
      })`
  })
  const { default: wiki } = (await import(pathToFileURL(`${folder}/plugin.ts`).href)) as { default: Plugin }
  const { kernel } = await openSearch(t, { plugins: [wiki] })
  const found = await kernel.call(queryOperation, { query: 'zebra' })
  t.match(found, { knowledge_lines: ['[node:w1] Zebra — Stripes.'], backend_mix: ['wiki'] })
  const { hits, plan } = await kernel.call(explainOperation, { query: 'zebra' })
  t.match(hits, [
    { key: 'w1', score: 0.8, text_score: 0.8, vector_score: null, tiers: ['wiki'], explanation: 'wiki: by hand' }
  ])
  t.equal(plan.intent, 'factual_lookup')
  await kernel.replace(withTier())
  t.equal((await kernel.call(queryOperation, { query: 'zebra' })).knowledge_hit_count, 0)
})

t.test('hits of words and vectors are fused with the weight of the settings', async t => {
  const hit = (score: number, key = 'a') => ({ key, title: key, text: key, score })
  const words = tier({ name: 'words', corpus: 'memory', query: async () => [hit(0.4), hit(0.9, 'b')] })
  const vectors = tier({ name: 'vectors', corpus: 'memory', leg: 'vector', query: async () => [hit(1.6)] })
  const { service, kernel } = await openSearch(t, {
    plugins: [withTier(words, vectors)],
    settings: { memory_vector_weight: 7, prefer_rrf: true }
  })
  const { signal } = new AbortController()
  const run = (mode: 'hybrid' | 'full_text' | 'vector') =>
    service.query({ query: 'zebra', corpora: ['memory'], mode, verify: false }, signal)
  const { hits, evidence } = await run('hybrid')
  t.match(hits, [
    { key: 'a', score: 1.6, textScore: 0.4, vectorScore: 1.6 },
    { key: 'b', score: 0.9, vectorScore: null }
  ])
  t.equal(evidence.tier, 'hybrid', 'and the weight 7 counts as 1')
  t.same(
    (await run('full_text')).hits.map(({ key }) => key),
    ['b', 'a']
  )
  t.same(
    (await run('vector')).hits.map(({ key }) => key),
    ['a']
  )
  const { rrf_fused_lines } = await kernel.call(queryOperation, { query: 'zebra', corpora: ['memory'] })
  t.same(rrf_fused_lines, [], 'one list is not fused')
})

t.test('a tier that hangs or fails is left out, and the answer says so', async t => {
  let release = (): void => {}
  const hanging = tier({
    name: 'slow',
    deadlineMs: 20,
    query: () => new Promise(resolve => (release = () => resolve([])))
  })
  const failing = tier({
    name: 'broken',
    query: async () => {
      throw new Error('no disk')
    }
  })
  const odd = tier({ name: 'odd', query: async () => 'hits' as never })
  const good = tier({ name: 'good', query: async () => [{ key: 'a', text: 'zebra', score: 1 }] })
  const plugins = [withTier(hanging, failing, odd, good)]
  const { kernel } = await openSearch(t, { plugins, settings: { prefer_rrf: true } })
  const request = { query: 'zebra', corpora: ['knowledge_graph'] as ['knowledge_graph'], verify: false }
  const found = await kernel.call(queryOperation, request)
  const { tiers, complete, warnings } = found.search_diagnostics
  const states = Object.fromEntries(tiers.map(each => [each.tier, each.state]))
  t.match(states, { slow: 'timed_out', broken: 'failed', odd: 'failed', good: 'done' })
  t.match(tiers.find(each => each.tier === 'broken')?.reason, 'no disk')
  t.equal(complete, false)
  t.same(warnings, ['tier_timed_out: slow', 'tier_failed: broken', 'tier_failed: odd'])
  t.match(found.note, /incomplete: slow timed out/)
  t.equal(found.knowledge_hit_count, 1)
  await kernel.call(queryOperation, request)
  const third = await kernel.call(queryOperation, request)
  t.match(
    third.search_diagnostics.tiers.find(each => each.tier === 'slow')?.reason,
    'earlier queries of the tier still run'
  )
  release()
})

t.test('hits of another shape are dropped, and long ones cut', async t => {
  const hits = [
    null,
    { key: '', text: 'x', score: 1 },
    { key: 'nan', text: 'x', score: Number.NaN },
    { key: 'line', text: 'x', score: 1, line: -1 },
    { key: 'title', text: 'x', score: 1, title: 3 },
    {
      ...{ key: 'long', text: 'x'.repeat(10_000), score: 1 },
      ...{ textLine: 'y'.repeat(10_000), factors: ['z'.repeat(10_000)] }
    },
    { key: 'second', text: 'x', score: 2 }
  ]
  const { service } = await openSearch(t, { plugins: [withTier(tier({ query: async () => hits as never }))] })
  const request = { query: 'zebra', corpora: ['knowledge_graph'] as const, verify: false }
  const found = await service.query(request, new AbortController().signal)
  t.same(
    found.hits.map(({ key, text }) => [key, text.length]),
    [
      ['second', 1],
      ['long', 2_000]
    ]
  )
  const long = found.hits[1]
  t.same([long?.textLine.length, long?.factors.map(({ length }) => length)], [2_000, [1_000]])
})

t.test('a query without text is refused, and an aborted one ends with its reason', async t => {
  const { kernel, service } = await openSearch(t, {
    plugins: [
      withTier(tier({ query: (_, signal) => new Promise((_, no) => (signal.onabort = () => no(signal.reason))) }))
    ]
  })
  await t.rejects(kernel.call(queryOperation, { query: ' ' }), { code: 'SRH_QUERY_INVALID' })
  t.throws(() => service.explain('x'.repeat(4_001)), { code: 'SRH_QUERY_INVALID' })
  const controller = new AbortController()
  const asked = service.query({ query: 'zebra', corpora: ['knowledge_graph'] }, controller.signal)
  controller.abort(new Error('enough'))
  await t.rejects(asked, /enough/)
})
