import { searchTiers } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { countSingulars, singular, wordForms } from '#plan'
import { indexOperation, Library } from '#root'
import { candidateQuery, chunkTier } from '#tiers'
import { openSearch } from './open-search.ts'

const counted = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).map(([term, count]) => ({ term, match: `"${term}"`, count }))

t.test('all terms choose the passages while few passages have them', async t => {
  t.same(candidateQuery(counted({ retry: 30, backoff: 5, absent: 0 }), 1_000, 100), {
    match: '"backoff" OR "retry"',
    all: '"backoff" OR "retry"',
    isComplete: true
  })
  t.same(candidateQuery(counted({ absent: 0 }), 1_000, 100), { match: null, all: null, isComplete: true })
})

t.test('rare terms and pairs of common terms choose the passages, and very common terms are left out', async t => {
  t.same(candidateQuery(counted({ plugin: 400, a: 990, retry: 30, model: 300, say: 450 }), 1_000, 100), {
    match: '("retry" OR ("model" AND "plugin")) AND ("retry" OR "model" OR "plugin" OR "say")',
    all: '"retry" OR "model" OR "plugin" OR "say"',
    isComplete: false
  })
  t.match(candidateQuery(counted({ a: 990, the: 980 }), 1_000, 100), { match: '(("the" AND "a")) AND ("the" OR "a")' })
  t.match(candidateQuery(counted({ a: 990 }), 1_000, 100), { match: '"a"', isComplete: false })
})

t.test('the terms that choose passages without others are the rarest ones, and have at most the maximum', async t => {
  const term = fc.record({ term: fc.stringMatching(/^[a-z]{1,6}$/), count: fc.nat(500) })
  const terms = fc.uniqueArray(term, { selector: each => each.term, maxLength: 8 })
  let checked = 0
  fc.assert(
    fc.property(terms, fc.integer({ min: 1, max: 400 }), (terms, maximum) => {
      const counted = terms.map(each => ({ ...each, match: `"${each.term}"` }))
      const { match, isComplete } = candidateQuery(counted, 500, maximum)
      if (isComplete || match === null) return
      checked += 1
      const choosing = (/^\((.*?)\) AND /.exec(match)?.[1] ?? '').split(' OR ').filter(part => /^"\w+"$/.test(part))
      const counts = choosing.map(part => terms.find(each => `"${each.term}"` === part)?.count ?? Number.NaN)
      const sum = counts.reduce((total, count) => total + count, 0)
      const rarest = terms.map(({ count }) => count).filter(count => count > 0)
      if (sum > maximum) throw new Error(`${match} ranks ${sum} passages`)
      const isRarest = counts.every((count, at) => count === rarest.toSorted((a, b) => a - b)[at])
      if (!isRarest) throw new Error(`${match} has no rarest terms`)
    })
  )
  t.ok(checked > 10, `${checked} queries with more passages than the maximum`)
})

t.test('a large index answers with the best passages, also if all words of the query are common', async t => {
  const { store } = await openSearch(t)
  const library = new Library(() => store)
  await library.open()
  await store.execute("INSERT INTO search_documents (id, source_uri, title) VALUES (1, 'notes', 'Notes')")
  // Passages 1 to 12,000: `alpha` in a third, `beta` in another, `gamma` in all.
  await store.execute(
    `WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
      INSERT INTO search_document_chunks (id, document_id, chunk_index, body_text)
      SELECT i, 1, i, 'gamma ' || CASE i % 3 WHEN 0 THEN 'alpha' WHEN 1 THEN 'beta' ELSE 'other words' END FROM n`
  )
  await store.execute(
    `INSERT INTO search_document_chunks (id, document_id, chunk_index, body_text) VALUES
      (20001, 1, 20001, 'gamma zebra words'), (20002, 1, 20002, 'gamma zebra alpha'), (20003, 1, 20003, 'alpha beta gamma')`
  )
  const tier = chunkTier(library)
  const search = async (...terms: string[]): Promise<string[]> => {
    const request = { query: terms.join(' '), terms, intent: 'factual_lookup', mode: 'full_text', limit: 5 } as const
    return (await tier.query(request, new AbortController().signal)).map(({ key }) => key)
  }
  t.same(await search('zebra', 'alpha', 'gamma'), [
    '20002',
    '20001',
    ...(await search('zebra', 'alpha', 'gamma')).slice(2)
  ])
  t.equal((await search('alpha', 'beta'))[0], '20003', 'the passage with both')
  t.equal((await search('gamma')).length, 5)
  t.equal((await search('alpha', 'other')).length, 5, 'common words that no passage has together')
  t.same(await search('absent'), [])
  await store.execute(
    "INSERT INTO search_document_chunks (document_id, chunk_index, body_text) VALUES (1, 30000, 'absent')"
  )
  t.equal((await search('absent')).length, 1, 'a new word is found at once')
})

t.test('singular and plural of a word are the same, and other words with s stay', async t => {
  const words = ['retries', 'retry', 'boxes', 'matches', 'files', 'class', 'status', 'css', 'bus', 'this']
  t.same(words.map(singular), ['retry', 'retry', 'box', 'match', 'file', 'class', 'status', 'css', 'bus', 'this'])
  t.same(wordForms('retries'), ['retries', 'retry', 'retrie'])
  t.same(wordForms('box'), ['box', 'boxes'])
  t.same(wordForms('v2'), ['v2'])
  t.same(
    [...countSingulars('Retries of a readFiles', new Set(['retry', 'file'])).counts],
    [
      ['retry', 1],
      ['file', 1]
    ]
  )
})

t.test('words in the heading of a passage count, and those of the other number', async t => {
  const { kernel, write, service } = await openSearch(t)
  const filler = 'Nothing about it is said here.\n'.repeat(80)
  write({
    'manual.md': `# Manual\n\n## Certificates\n\n${filler}\nIt ends with a word: numbat.\n`,
    'other.md': '# Other\n\nA numbat without anything else.\n'
  })
  await kernel.call(indexOperation, {})
  const find = async (query: string) => {
    const request = { query, mode: 'full_text', corpora: ['document_chunks'], verify: false } as const
    const { hits } = await service.query(request, new AbortController().signal)
    return hits.map(({ provenance }) => provenance)
  }
  t.equal((await find('certificate numbats'))[0], 'repo:manual.md')
  t.equal((await find('numbat'))[0], 'repo:other.md', 'the shorter passage')
})

t.test('a passage that only words or only vectors find is scored by both, unless that is turned off', async t => {
  const tier = (
    name: string,
    leg: 'text' | 'vector',
    found: Record<string, number>,
    others: Record<string, number>
  ) => ({
    name,
    leg,
    corpus: 'knowledge_graph' as const,
    query: async () => Object.entries(found).map(([key, score]) => ({ key, text: key, score })),
    scores: async (_: unknown, keys: readonly string[]) =>
      new Map(keys.flatMap(key => (key in others ? ([[key, others[key] as number]] as const) : [])))
  })
  const tiers = definePlugin({
    name: 'wiki',
    activate(ctx) {
      ctx.contribute(searchTiers, tier('wiki_words', 'text', { both: 1, words: 0.5 }, { vectors: 0 }))
      ctx.contribute(searchTiers, tier('wiki_vectors', 'vector', { both: 1.5, vectors: 1.4, alone: 1.3 }, { words: 1 }))
      ctx.contribute(searchTiers, {
        ...tier('wiki_broken', 'vector', { alone: 1.2 }, {}),
        scores: async () => {
          throw new Error('no scores')
        }
      })
    }
  }) as Plugin
  const scoresOf = async (settings: object) => {
    const { service } = await openSearch(t, { plugins: [tiers], settings })
    const request = { query: 'anything', mode: 'hybrid', corpora: ['knowledge_graph'], verify: false } as const
    const { hits, complete } = await service.query(request, new AbortController().signal)
    t.ok(complete)
    return Object.fromEntries(hits.map(({ key, score }) => [key, Number(score.toFixed(3))]))
  }
  t.same(await scoresOf({ chunk_vector_weight: 0.6 }), { both: 1.3, alone: 1.3, vectors: 0.84, words: 0.8 })
  t.same(await scoresOf({ score_both_legs: false, chunk_vector_weight: 0.6 }), {
    vectors: 1.4,
    both: 1.3,
    alone: 1.3,
    words: 0.5
  })
})
