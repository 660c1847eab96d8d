import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { type InferenceEmbeddings, inferenceEmbeddings, remoteEmbeddings } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { authorityFactor, canonicalUrl, PageReader, webHits } from '#adapters'
import { searchMemories, storeMemory } from '#operations'
import { Library, queryOperation, StoredVectors } from '#root'
import { openSearch } from './open-search.ts'
import { localServer } from './servers.ts'

const { signal } = new AbortController()
const WEB = { corpora: ['web_research'] as ['web_research'], verify: false }

/** Plugin with a model that maps texts to vectors. */
const model = (vectorOf: (text: string) => number[]): Plugin =>
  definePlugin({
    name: 'model',
    provides: [inferenceEmbeddings],
    activate(ctx) {
      const embeddings: InferenceEmbeddings = {
        load: async () =>
          ({
            info: { kind: 'embedding', digest: 'd1' },
            embed: async (inputs: string[]) => {
              const vector = vectorOf(inputs[0] ?? '')
              return { values: Float32Array.from(vector), count: 1, dimensions: vector.length, tokens: 1 }
            },
            close: async () => {}
          }) as never
      }
      ctx.provide(inferenceEmbeddings, embeddings)
    }
  }) as Plugin

t.test('SearXNG is asked with the settings, and its results are ranked by score and authority', async t => {
  const results = [
    {
      url: 'https://www.blog.example/a?utm_source=x#top',
      title: 'Blog',
      content: 'about zebras',
      engine: 'bing',
      score: 1
    },
    { url: 'https://blog.example/a/', title: 'Blog', content: 'again', engine: 'google', score: 0.2 },
    { url: 'https://zoo.gov/zebra', title: 'Zoo', content: 'official', engine: 'ddg', score: 0.9 },
    { url: 'javascript:alert(1)', title: 'Bad', content: 'bad' },
    { url: 'http://user:secret@evil.example/', title: 'Bad', content: 'bad' },
    null
  ]
  const server = await localServer(t, () => ({ results }))
  const { kernel } = await openSearch(t, {
    settings: { searxng_url: `${server.url}/`, searxng_engines: 'ddg', searxng_language: 'de', searxng_max_results: 2 }
  })
  const found = await kernel.call(queryOperation, { query: 'zebra & co', ...WEB })
  t.same(found.web_lines, ['[web:https://zoo.gov/zebra] official', '[web:https://blog.example/a] about zebras'])
  t.same(found.backend_mix, ['web'])
  const { url } = server.asked[0] as (typeof server.asked)[0]
  t.equal(url.pathname, '/search')
  t.same(Object.fromEntries(url.searchParams), { q: 'zebra & co', format: 'json', engines: 'ddg', language: 'de' })
  t.match(
    found.search_diagnostics.tiers.find(({ tier }) => tier === 'duckduckgo'),
    { state: 'skipped', reason: 'another tier has hits' }
  )
})

t.test('pages of results are read if they are public and have enough text', async t => {
  const text = 'All zebras have stripes. '.repeat(20)
  const server = await localServer(t, ({ url }, response) => {
    if (url.pathname === '/search') return { results: [{ url: `${server.url}/page/`, title: 'T', content: 'short' }] }
    // Many servers redirect to the address with a slash.
    if (url.pathname === '/page' || url.pathname === '/moved') response.writeHead(302, { location: '/page/' })
    else response.setHeader('content-type', url.pathname === '/json' ? 'application/json' : 'text/html')
    const filler = url.pathname === '/empty' ? 'x'.repeat(9_000) : ''
    response.end(`<html><head><script>${filler}</script></head><body><p>${text}</p></body></html>`)
  })
  const settings = { searxng_url: server.url }
  const asked = async (more: object): Promise<string[]> => {
    const { kernel } = await openSearch(t, { settings: { ...settings, ...more } })
    return (await kernel.call(queryOperation, { query: 'zebra', ...WEB })).web_lines
  }
  t.match(await asked({ scraper_private: true }), [/\] All zebras have stripes\. All/])
  t.match(await asked({}), [/\] short$/], 'a page on this machine is not read')
  const reader = (more: object) =>
    new PageReader(() => ({ scraper_timeout_ms: 5_000, scraper_min_density: 0.15, scraper_private: true, ...more }))
  t.match(await reader({}).read(`${server.url}/page/`, signal), /^All zebras/)
  for (const path of ['moved', 'json', 'empty'])
    t.equal(await reader({}).read(`${server.url}/${path}`, signal), null, path)
  t.match(await reader({ scraper_min_density: 0 }).read(`${server.url}/empty`, signal), /^All zebras/)
  const before = server.asked.length
  for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]'])
    t.equal(await reader({ scraper_private: false }).read(server.url.replace('127.0.0.1', host), signal), null, host)
  t.equal(server.asked.length, before, 'no request was sent')
})

t.test('a page that never ends is left at the time limit, and one that is too long is cut', async t => {
  const server = await localServer(t, ({ url }, response) => {
    response.setHeader('content-type', 'text/html')
    if (url.pathname === '/slow') response.write('<p>begin')
    else response.end(`<p>${'zebra '.repeat(400_000)}</p>`)
  })
  const settings = { scraper_timeout_ms: 50, scraper_min_density: 0, scraper_private: true }
  t.equal(await new PageReader(() => settings).read(`${server.url}/slow`, signal), null)
  const long = { ...settings, scraper_timeout_ms: 30_000 }
  t.equal((await new PageReader(() => long).read(`${server.url}/long`, signal))?.length, 2_000)
})

t.test('DuckDuckGo is asked only if nothing else was found', async t => {
  const server = await localServer(t, () => ({
    Heading: 'Zebra',
    AbstractText: 'An animal.',
    AbstractURL: 'https://en.example/zebra',
    RelatedTopics: [
      { Text: 'Quagga - extinct', FirstURL: 'https://en.example/quagga' },
      { Topics: [{ Text: 'Grevy - large', FirstURL: 'https://en.example/grevy' }] },
      { Text: 'no address' }
    ]
  }))
  const settings = { ddg_fallback_disabled: false, ddg_url: server.url }
  const { kernel, write } = await openSearch(t, { settings })
  const found = await kernel.call(queryOperation, { query: 'zebra', verify: false })
  t.same(found.web_lines, [
    '[web:https://en.example/zebra] An animal.',
    '[web:https://en.example/quagga] Quagga - extinct',
    '[web:https://en.example/grevy] Grevy - large'
  ])
  write({ 'zebra.txt': 'zebra' })
  const local = await kernel.call(queryOperation, {
    query: 'zebra.txt zebra',
    corpora: ['document_chunks', 'web_research']
  })
  t.equal(local.web_hit_count, 0)
  t.equal(server.asked.length, 1)
})

t.test('Tavily is asked within its budget, with the key in a header', async t => {
  const server = await localServer(t, () => ({
    results: [{ url: 'https://arxiv.org/abs/1', title: 'Paper', content: 'zebra', score: 0.5 }]
  }))
  const settings = { tavily_enabled: true, tavily_url: server.url, tavily_api_key: 'tvly-secret', tavily_project: 'p1' }
  const { kernel } = await openSearch(t, { settings: { ...settings, tavily_depth: 'advanced', tavily_budget: 3 } })
  const found = await kernel.call(queryOperation, { query: 'zebra', ...WEB })
  t.match(found.hits, [{ key: 'https://arxiv.org/abs/1', score: 0.575 }])
  t.match(server.asked[0], {
    method: 'POST',
    headers: { authorization: 'Bearer tvly-secret', 'x-project-id': 'p1' },
    body: { query: 'zebra', search_depth: 'advanced', max_results: 5 }
  })
  const { search_diagnostics } = await kernel.call(queryOperation, { query: 'zebra', ...WEB })
  t.match(
    search_diagnostics.tiers.find(({ tier }) => tier === 'tavily')?.reason,
    '2 of 3 credits are spent, and a search costs 2'
  )
  t.equal(server.asked.length, 1)
})

t.test('hostile answers of servers fail their tier, with neither query nor key in the reason', async t => {
  const answers: Record<string, (response: import('node:http').ServerResponse) => unknown> = {
    'not JSON': () => '<html>',
    'no list': () => ({ results: { a: 1 } }),
    'a list of nonsense': () => ({ results: [1, 'x', { url: 3, title: {}, content: [], score: 'NaN' }] }),
    'status 500': response => void response.writeHead(500).end('tvly-secret zebra'),
    'a redirect': response => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    'too long': response => void response.end(`["${'x'.repeat(5 * 2 ** 20)}"]`),
    'a broken connection': response => void response.destroy(),
    'deep nesting': () => `${'['.repeat(100_000)}`
  }
  let answer = 'not JSON'
  const server = await localServer(t, (_, response) => answers[answer]?.(response))
  const settings = { tavily_enabled: true, tavily_url: server.url, tavily_api_key: 'tvly-secret' }
  const { kernel } = await openSearch(t, { settings })
  for (answer of Object.keys(answers)) {
    const { search_diagnostics, web_hit_count } = await kernel.call(queryOperation, { query: 'zebra', ...WEB })
    const report = search_diagnostics.tiers.find(({ tier }) => tier === 'tavily')
    t.equal(web_hit_count, 0, answer)
    if (answer === 'a list of nonsense') t.equal(report?.state, 'done')
    else t.match(report, { state: 'failed', reason: /^Tavily/ }, answer)
    t.notMatch(report?.reason ?? '', /tvly-secret|zebra/, answer)
    t.equal(search_diagnostics.complete, answer === 'a list of nonsense')
  }
})

t.test('neither the password of an address nor a key that no header can have is in the reason', async t => {
  for (const settings of [
    { tavily_url: 'http://me:tvly-secret@127.0.0.1:9', tavily_api_key: 'key' },
    { tavily_url: 'http://127.0.0.1:9', tavily_api_key: 'tvly-secret\nsecond' },
    { tavily_url: 'http://127.0.0.1:9', tavily_api_key: 'tvly-secret\u{430}' }
  ]) {
    const { kernel } = await openSearch(t, { settings: { tavily_enabled: true, ...settings } })
    const { search_diagnostics } = await kernel.call(queryOperation, { query: 'zebra', ...WEB })
    const report = search_diagnostics.tiers.find(({ tier }) => tier === 'tavily')
    t.match(report, { state: 'failed', reason: /^Tavily at http:\/\/127\.0\.0\.1:9: / })
    t.notMatch(report?.reason ?? '', /tvly-secret|zebra/)
  }
})

t.test('Qdrant is asked with the vector of the query, and its failure does not end the search', async t => {
  let fails = false
  const server = await localServer(t, (_, response) =>
    fails
      ? void response.writeHead(503).end()
      : {
          result: [
            { id: 17, score: 0.8, payload: { body: 'second choice', text: ` ${'t'.repeat(300)}` } },
            { id: 'u-2', score: 0.5, payload: { uri: 'file:///a' } },
            { id: null, score: 1 },
            { id: 3, score: 'x' }
          ]
        }
  )
  const settings = {
    ...{ qdrant_url: `${server.url}/`, qdrant_api_key: 'q-key', qdrant_vector_name: 'text' },
    embedding_folder: 'model'
  }
  const { kernel, store } = await openSearch(t, { settings, plugins: [model(() => [0.5, 1])] })
  await store.execute("INSERT INTO search_documents (id, source_uri, title) VALUES (1, 'a.md', 'A')")
  await store.execute(
    "INSERT INTO search_document_chunks (id, document_id, chunk_index, body_text) VALUES (1, 1, 0, 'zebra')"
  )
  const request = { query: 'zebra', corpora: ['document_chunks'] as ['document_chunks'], verify: false }
  const found = await kernel.call(queryOperation, request)
  t.match(server.asked[0], {
    method: 'POST',
    headers: { 'api-key': 'q-key', 'x-vox-trace-id': String },
    body: { vector: { name: 'text', vector: [0.5, 1] }, limit: 8, with_payload: true }
  })
  t.equal(server.asked[0]?.url.pathname, '/collections/vox_docs/points/search')
  t.match(found, { retrieval_tier: 'hybrid', used_vector: true, chunk_hit_count: 3 })
  t.same(found.chunk_lines, [
    `[qdrant:17 score:1.600] ${'t'.repeat(160)}`,
    '[chunk:1 title:A] zebra',
    '[qdrant:u-2 score:1.000] file:///a'
  ])
  fails = true
  const partial = await kernel.call(queryOperation, request)
  t.match(partial, { chunk_hit_count: 1, search_diagnostics: { complete: false, warnings: ['qdrant_sidecar_failed'] } })
})

t.test('a note is found by its meaning, with the weight of both legs', async t => {
  const { kernel, store } = await openSearch(t, {
    settings: { embedding_folder: 'model' },
    plugins: [model(text => (/horse|zebra/.test(text) ? [1, 0] : [0, 1]))]
  })
  await kernel.call(storeMemory, { key: 'zebra', body: 'A zebra has stripes.' })
  await kernel.call(storeMemory, { key: 'car', body: 'A car has wheels.' })
  const { hits } = await kernel.call(searchMemories, { query: 'horse' })
  t.match(hits[0], { key: 'zebra', score: 2 })
  await kernel.call(storeMemory, { key: 'zebra', body: 'Now about cars.' })
  t.match((await kernel.call(searchMemories, { query: 'horse' })).hits[0], { score: 1 })
  const metrics = 'SELECT metadata_json FROM research_metrics WHERE session_id = ? AND metric_type = ?'
  const recorded = await store.query(metrics, ['socrates:retrieval', 'memory_hybrid_fusion'])
  t.same(recorded.rows, [], 'only searches with hits of both legs are recorded')
  await kernel.call(searchMemories, { query: 'wheels' })
  const read = () => store.query(metrics, ['socrates:retrieval', 'memory_hybrid_fusion'])
  let after = await read()
  // The metric is written after the answer.
  for (let tries = 0; after.rows.length === 0 && tries < 200; tries++) {
    await setTimeout(25)
    after = await read()
  }
  t.match(
    after.rows.map(([json]) => JSON.parse(String(json))),
    [{ vector_weight: 0.55, hits: 2, vector_hits: 2, text_hits: 1, fused_hits: 1, trigger: 'explicit_tool_query' }]
  )
  const { rows } = await store.query('SELECT COUNT(*) FROM embeddings')
  t.same(rows, [[2]], 'the vector of a replaced note is replaced')
})

t.test('stored vectors of another length, another model or with NaN are left out', async t => {
  const { store } = await openSearch(t)
  const library = new Library(() => store)
  await library.open()
  const vectors = new StoredVectors(library, () => 10)
  await vectors.store('memory', 'good', 'm', Float32Array.of(1, 1))
  await vectors.store('memory', 'long', 'm', Float32Array.of(1, 1, 1))
  await vectors.store('memory', 'nan', 'm', Float32Array.of(Number.NaN, 1))
  await vectors.store('memory', 'other', 'n', Float32Array.of(1, 1))
  await store.execute(
    `INSERT INTO embeddings (source_type, source_id, dim, vector, metadata) VALUES ('memory', 'torn', 2, x'0102', '{"model":"m"}')`
  )
  const similar = await vectors.similar('memory', 'm', Float32Array.of(1, 0), 5, signal)
  t.match(similar, [{ sourceId: 'good' }])
  t.equal(similar.length, 1)
  t.ok(Math.abs((similar[0]?.similarity ?? 0) - Math.SQRT1_2) < 1e-6)
  for (let at = 0; at < 30; at++) await vectors.store('memory', `v${at}`, 'm', Float32Array.of(at, 1))
  const windowed = await new StoredVectors(library, () => 1).similar('memory', 'm', Float32Array.of(0, 1), 3, signal)
  t.same(windowed.map(({ sourceId }) => sourceId).toSorted(), ['v27', 'v28', 'v29'], 'only the newest are compared')
})

t.test('text files of a root are indexed, and again when they change', async t => {
  const root = t.testdir({ docs: { 'a.md': 'the zebra runs', sub: { 'b.txt': 'a quagga' }, '.env': 'zebra' } })
  const { kernel } = await openSearch(t, { settings: { tantivy_root: root, live_files: 0 } })
  const lines = async (query: string) =>
    (await kernel.call(queryOperation, { query, corpora: ['document_chunks'], verify: false })).chunk_lines
  t.same(await lines('zebra'), ['[tantivy:a.md score:1.000] the zebra runs'])
  t.same(await lines('quagga'), ['[tantivy:sub/b.txt score:1.000] a quagga'])
  writeFileSync(join(root, 'docs/c.md'), 'one more zebra')
  const again = await openSearch(t, { settings: { tantivy_root: root, live_files: 0 } })
  const { chunk_hit_count } = await again.kernel.call(queryOperation, {
    query: 'zebra',
    corpora: ['document_chunks'],
    verify: false
  })
  t.equal(chunk_hit_count, 2)
})

t.test('a web address has one form, and odd ones are refused', async t => {
  t.equal(canonicalUrl('HTTPS://WWW.Example.com:443/a/?b=2&a=1&utm_medium=x#f'), 'https://example.com/a?a=1&b=2')
  t.equal(canonicalUrl('http://example.com/'), 'http://example.com')
  for (const url of ['ftp://example.com', 'data:text/html,x', 'https://u:p@example.com', 'no', ''])
    t.equal(canonicalUrl(url), null, url)
  t.same(
    ['https://nasa.gov', 'https://docs.rs/x', 'https://notgithub.com', 'https://gist.github.com'].map(authorityFactor),
    [1.25, 1.15, 1, 1.15]
  )
  fc.assert(
    fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), url => {
      const once = canonicalUrl(url)
      return once === null || canonicalUrl(once) === once
    })
  )
  t.match(webHits([{ url: 'https://a.example', title: '', text: 'x', score: null, source: 's' }], 5), [
    { score: 1, title: 'https://a.example' }
  ])
})

t.test('a provider computes vectors only if the settings allow it', async t => {
  const embedded: string[] = []
  let isUsable = true
  const providers = definePlugin({
    name: 'fake-providers',
    provides: [remoteEmbeddings],
    activate(ctx) {
      ctx.provide(remoteEmbeddings, {
        open: async () =>
          isUsable
            ? {
                provider: 'openai',
                model: 'small',
                embed: async ([text]) => {
                  embedded.push(String(text))
                  return { values: Float32Array.of(1, 0), count: 1, dimensions: 2, tokens: 1 }
                }
              }
            : null
      })
    }
  }) as Plugin
  const request = { query: 'zebra', corpora: ['memory'] as ['memory'], verify: false }
  const local = await openSearch(t, { plugins: [providers] })
  await local.kernel.call(storeMemory, { key: 'a', body: 'zebra' })
  const { search_diagnostics } = await local.kernel.call(queryOperation, request)
  t.same(embedded, [], 'nothing is sent without the setting')
  t.match(
    search_diagnostics.tiers.find(({ tier }) => tier === 'memory_vector'),
    { state: 'skipped', reason: 'neither embedding_folder nor embedding_remote is set' }
  )
  const { kernel } = await openSearch(t, { plugins: [providers], settings: { embedding_remote: true } })
  await kernel.call(storeMemory, { key: 'a', body: 'quagga' })
  t.match((await kernel.call(queryOperation, request)).hits, [{ key: 'a', score: 2 }])
  t.same(embedded, ['\nquagga', 'zebra'])
  isUsable = false
  const without = await openSearch(t, { plugins: [providers], settings: { embedding_remote: true } })
  const found = await without.kernel.call(queryOperation, request)
  t.match(
    found.search_diagnostics.tiers.find(({ tier }) => tier === 'memory_vector'),
    { state: 'failed', reason: 'no provider with a key computes vectors' }
  )
})
