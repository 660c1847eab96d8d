import fc from 'fast-check'
import t from 'tap'
import {
  citationCoverage,
  contradictionCount,
  evidenceQuality,
  evidenceTier,
  nextAction,
  verificationQuery,
  verificationReason
} from '#evidence'
import { planSearch, queryTerms } from '#plan'
import { hitLine, pathScore, pathTokens, scoredLine } from '#root'
import {
  ageFactor,
  bm25,
  candidateWindow,
  chunkVectorScore,
  cosine,
  fuse,
  lineKey,
  memoryVectorScore,
  rankScore,
  reciprocalRankFusion,
  statusFactor
} from '#score'

const DAY = 86_400_000
const near = (value: number, wanted: number): boolean => Math.abs(value - wanted) < 5e-4

t.test('the words of a query choose intent, mode and corpora', async t => {
  for (const query of ['which file has the parser', 'Parser::new', 'open src/main', 'fn in lexer.rs', 'planner.ts'])
    t.match(planSearch(query), {
      intent: 'code_navigation',
      mode: 'full_text',
      corpora: ['symbol_proximity', 'repo_inventory', 'document_chunks', 'knowledge_graph', 'memory']
    })
  t.match(planSearch('how are releases signed'), { intent: 'repo_structure', mode: 'hybrid' })
  t.notOk(planSearch('architecture of the kernel').corpora.includes('web_research'), 'stays on this machine')
  const general = ['memory', 'knowledge_graph', 'document_chunks', 'repo_inventory', 'web_research']
  t.match(planSearch('capital of France'), { intent: 'factual_lookup', mode: 'hybrid', corpora: general })
  t.match(planSearch('one two three four five six seven eight'), { intent: 'factual_lookup' })
  t.match(planSearch('one two three four five six seven eight nine'), { intent: 'broad_research', corpora: general })
  t.equal(planSearch('profile of a user').intent, 'factual_lookup', 'a part of a word does not count')
})

t.test('scores agree with numbers computed by hand', async t => {
  t.same([0, 1, 3].map(rankScore), [1, 0.5, 0.25])
  t.same([-0.5, 0.25, 1].map(chunkVectorScore), [0, 0.5, 2])
  t.same([0, 1, 2, 3].map(memoryVectorScore), [2, 1, 0, 0])
  t.ok(near(cosine(Float32Array.of(1, 2, 3), Float32Array.of(2, 0, 1)), 0.59761), '5 / sqrt(14 x 5)')
  t.equal(cosine(Float32Array.of(0, 0), Float32Array.of(1, 1)), 0)
  t.throws(() => cosine(Float32Array.of(1), Float32Array.of(1, 2)), RangeError)
  t.same(
    ['current', 'experimental', 'Research', 'roadmap', 'legacy', 'deprecated', 'draft'].map(statusFactor),
    [1.2, 0.8, 0.6, 0.6, 0.2, 0.2, 1]
  )
  t.ok(near(ageFactor(180 * DAY), 0.5) && near(ageFactor(360 * DAY), 0.25))
  t.same([ageFactor(-DAY), ageFactor(3_650 * DAY)], [1, 0.1])
  // Two of ten texts have the word: idf = ln(1 + 8.5 / 2.5) = 1.4816; tf 3 in 50 words, 100 on average:
  // 3 x 2.2 / (3 + 1.2 x (0.25 + 0.75 x 0.5)) = 1.76.
  const corpus = { texts: 10, meanWords: 100, having: new Map([['zebra', 2]]) }
  t.ok(near(bm25(new Map([['zebra', 3]]), 50, corpus, { k1: 1.2, b: 0.75 }), 2.6077))
  t.ok(near(bm25(new Map([['zebra', 3]]), 50, corpus, { k1: 1.2, b: 0 }), 2.3283), 'without length')
})

t.test('a hit of both legs has a weighted score, and one of a single leg its own', async t => {
  t.ok(near(fuse({ text: 0.5, vector: 1.5 }, 0.6), 1.1))
  t.ok(near(fuse({ text: 2, vector: 1 }, 0.55), 1.45))
  t.same([fuse({ text: 0.5, vector: null }, 0.6), fuse({ text: null, vector: 1.5 }, 0.6)], [0.5, 1.5])
})

t.test('rank fusion adds 1/(k + rank), joins lines with one key, and needs two lists', async t => {
  const fused = reciprocalRankFusion([['[a] one', '[b] two'], ['[b] other text'], []], 60, 1)
  t.same(
    fused.map(({ line }) => line),
    ['[b] two', '[a] one']
  )
  t.ok(near(fused[0]?.score ?? 0, 1 / 62 + 1 / 61))
  t.same(reciprocalRankFusion([['[a] one'], []], 60, 8), [])
  const many = Array.from({ length: 30 }, (_, index) => `[${index}] x`)
  t.same(
    [1, 10].map(limit => reciprocalRankFusion([many, many], 60, limit).length),
    [8, 20]
  )
  const lists = fc.array(fc.array(fc.integer({ min: 0, max: 9 }).map(key => `[${key}] x`)), { maxLength: 4 })
  fc.assert(
    fc.property(lists, fc.integer({ min: 1, max: 500 }), (lists, k) => {
      const fused = reciprocalRankFusion(lists, k, 4)
      const keys = fused.map(({ line }) => lineKey(line))
      return (
        new Set(keys).size === keys.length &&
        fused.every(({ score }, at) => score > 0 && score <= (fused[at - 1]?.score ?? score))
      )
    })
  )
})

t.test('the window of vectors grows with the limit, and doubles without full-text search', async t => {
  t.equal(candidateWindow(8, 10, true), 80)
  t.equal(candidateWindow(8, 10, false), 160)
  t.equal(candidateWindow(8, 20, false), 240, 'doubled to at most 30')
  t.equal(candidateWindow(8, 40, false), 320, 'never less than configured')
  t.equal(candidateWindow(0, 10, true), 10)
  t.equal(candidateWindow(10_000, 10, true), 5_000)
  t.equal(candidateWindow(500, 1_000, true), 50_000)
})

t.test('a path scores 1 per word, and 1.3 more at its end or at the start of a part', async t => {
  const tokens = pathTokens('where is planner in the Plan?')
  t.same(tokens, ['planner', 'plan'])
  t.ok(near(pathScore('src/plan/planner.ts', tokens), 4.6))
  t.ok(near(pathScore('src/explanation.md', ['plan']), 1))
  t.ok(near(pathScore('explan', ['plan']), 2.3))
  t.equal(pathScore('src/main.ts', tokens), 0)
})

t.test('evidence is weighted, and its weakness is named', async t => {
  t.equal(citationCoverage(2), 0.25)
  t.ok(near(evidenceQuality(1.7, 0.25), 0.775) && near(evidenceQuality(0.5, 0.125), 0.3875))
  const of = (title: string, score: number, corpus = 'memory' as const) => ({ title, score, corpus })
  t.equal(contradictionCount([of('Deploy guide', 1), of('Old deploy notes', 0.9), of('x', 0.1)]), 1)
  t.equal(contradictionCount([of('Deploy guide', 1), of('deploy guide', 0.9)]), 0, 'the same title')
  t.equal(contradictionCount([of('The old way', 1), of('An old car', 0.9)]), 0, 'words of 3 letters do not count')
  t.equal(contradictionCount([of('docs/release/a.md', 1), of('docs/release/b.md', 1)]), 0, 'folders do not count')
  const good = { tier: 'bm25', contradictions: 0, sources: 2, quality: 0.8 } as const
  const reason = (facts: object) => verificationReason({ ...good, ...facts }, 0.55)
  t.equal(reason({}), null)
  t.equal(reason({ contradictions: 1 }), 'contradictions_detected')
  t.equal(reason({ tier: 'lexical_fallback' }), 'lexical_fallback_only')
  t.equal(reason({ sources: 1 }), 'single_corpus_evidence')
  t.equal(reason({ quality: 0.54 }), 'weak_evidence_quality')
  t.equal(reason({ sources: 0, tier: 'none' }), 'weak_evidence_quality')
  t.equal(verificationQuery('How does the Kernel drain a unit?'), 'kernel drain unit')
  t.equal(verificationQuery('kernel drain'), null, 'the same query is not repeated')
  t.equal(verificationQuery('is it up'), null)
  const tier = (vector: boolean, ranked: boolean, unranked: boolean) => evidenceTier({ vector, ranked, unranked })
  t.same(
    [tier(true, true, true), tier(false, true, true), tier(false, false, true), tier(false, false, false)],
    ['hybrid', 'bm25', 'lexical_fallback', 'none']
  )
})

t.test('each weakness has a recommended action', async t => {
  const facts: Parameters<typeof nextAction>[0] = {
    tier: 'bm25',
    contradictions: 0,
    sources: 2,
    quality: 0.3,
    terms: 2,
    hasVectors: true,
    intent: 'factual_lookup',
    mode: 'hybrid',
    repoHits: 1,
    knowledgeHits: 1
  }
  const action = (changed: object) => nextAction({ ...facts, ...changed }, 0.55)
  t.equal(action({ quality: 0.6 }), null)
  t.equal(action({ terms: 0 }), 'ask_user')
  t.equal(action({ contradictions: 1 }), 'narrow_scope')
  t.equal(action({ sources: 0, mode: 'vector' }), 'retry_lexical')
  t.equal(action({ sources: 0, mode: 'full_text' }), 'retry_hybrid')
  t.equal(action({ sources: 0, mode: 'full_text', hasVectors: false }), 'broaden_scope')
  t.equal(action({ sources: 0 }), 'abstain')
  t.equal(action({ tier: 'lexical_fallback' }), 'retry_hybrid')
  t.equal(action({ intent: 'code_navigation', repoHits: 0 }), 'focus_repo')
  t.equal(action({ knowledgeHits: 0 }), 'focus_codex')
  t.equal(action({ sources: 1 }), 'broaden_scope')
  t.equal(action({}), 'narrow_scope')
})

t.test('the line of a hit has the grammar of its corpus', async t => {
  const hit = { key: 'k', title: 'Title', text: 'some\n text', line: 3, score: 0.5, provenance: 'notes' }
  t.equal(hitLine('memory', hit), '[k] some text (score 0.500; provenance notes; contradiction none)')
  t.equal(hitLine('knowledge_graph', hit), '[node:k] Title — some text')
  t.equal(hitLine('document_chunks', hit), '[chunk:k title:Title] some text')
  t.equal(hitLine('repo_inventory', { ...hit, key: 'src/a.ts' }), '[repo:src/a.ts] src/a.ts')
  t.equal(hitLine('web_research', { ...hit, key: 'https://a.example/' }), '[web:https://a.example/] some text')
  t.equal(hitLine('symbol_proximity', hit), '[symbol:k:3] some text')
  t.equal(scoredLine('tantivy', 'a.md', 0.25, 'text'), '[tantivy:a.md score:0.250] text')
  t.equal(scoredLine('qdrant', '17', 0.25, 'text'), '[qdrant:17 score:0.250] text')
  const hostile = { ...hit, key: 'a] [node:b', title: 'x]\u001b[31m', text: '\u202Eevil\u0000\nnext' }
  t.equal(hitLine('document_chunks', hostile), '[chunk:a) (node:b title:x) (31m] evil next')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (key, text) => {
      const line = hitLine('document_chunks', { ...hit, key, text })
      return /^\[chunk:[^[\]\n]* title:Title\] [^\n]*$/u.test(line) && line.length < 20_000
    })
  )
})

t.test('search terms are words except stop words, and the parts of compound names', async t => {
  t.same(queryTerms('Where is the retryBackoff of parse_file?'), [
    'retrybackoff',
    'retry',
    'backoff',
    'parse_file',
    'parse'
  ])
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), text => {
      const terms = queryTerms(text)
      return terms.length <= 24 && terms.every(term => term === term.toLowerCase() && !/["\s]/.test(term))
    })
  )
})
