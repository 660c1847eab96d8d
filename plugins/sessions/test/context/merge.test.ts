import type { ContextEnvelope } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { mergeEnvelopes, parseEnvelope, violationsOf } from '#context'
import { envelope, withStrategy } from '../envelopes.ts'

const word = fc.stringMatching(/^[a-z]{1,6}$/)
const words = fc.uniqueArray(word, { maxLength: 4 })

const anyEnvelope = fc
  .record({
    id: word,
    created: fc.integer({ min: 1, max: 1000 }),
    rank: fc.integer({ min: 0, max: 10_000 }),
    tier: fc.constantFrom('untrusted', 'advisory', 'trusted', 'system_verified'),
    freshness: fc.constantFrom('volatile', 'recent', 'stable', 'archival'),
    confidence: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined }),
    expires: fc.option(fc.integer({ min: 1, max: 1000 }), { nil: undefined }),
    summary: fc.array(word, { maxLength: 3 }),
    facts: fc.uniqueArray(fc.record({ id: word, text: word }), { selector: ({ id }) => id, maxLength: 4 }),
    tags: words,
    paths: words
  })
  .map(each =>
    withStrategy('crdt_merge', {
      envelope_id: each.id,
      created_at_unix_ms: each.created,
      ...(each.expires === undefined ? {} : { expires_at_unix_ms: each.expires }),
      trust: {
        trust_tier: each.tier,
        authority_rank: each.rank,
        freshness_tier: each.freshness,
        ...(each.confidence === undefined ? {} : { confidence: each.confidence })
      },
      content: {
        summary_text: each.summary.join('\n---\n'),
        facts: each.facts,
        tags: each.tags,
        repo_paths: each.paths
      }
    })
  )

const merge = (a: ContextEnvelope, b: ContextEnvelope): ContextEnvelope => mergeEnvelopes(a, b, 5).envelope

/** Returns the order-independent parts of a merge: facts only by id, summaries as sets. */
function unordered({ trust, content, created_at_unix_ms, expires_at_unix_ms }: ContextEnvelope): unknown {
  const { facts = [], tags, repo_paths, summary_text } = content
  const parts = [...new Set(summary_text.split('\n---\n'))].sort()
  return { trust, created_at_unix_ms, expires_at_unix_ms, facts: facts.map(({ id }) => id), tags, repo_paths, parts }
}

t.test('merging the same envelope again changes nothing', t => {
  fc.assert(
    fc.property(anyEnvelope, anyEnvelope, (a, b) => {
      const once = merge(a, b)
      t.same(merge(once, b), once)
      t.same(merge(once, once), once)
    }),
    { numRuns: 200 }
  )
  t.end()
})

t.test('the order of a merge affects only facts with equal ids, and the order of summaries', t => {
  fc.assert(
    fc.property(anyEnvelope, anyEnvelope, (a, b) => {
      t.same(unordered(merge(a, b)), unordered(merge(b, a)))
      const texts = new Map([...(a.content.facts ?? []), ...(b.content.facts ?? [])].map(({ id, text }) => [id, text]))
      for (const { id, text } of merge(a, b).content.facts ?? []) t.equal(text, texts.get(id))
    }),
    { numRuns: 200 }
  )
  t.end()
})

t.test('merging is associative', t => {
  fc.assert(
    fc.property(anyEnvelope, anyEnvelope, anyEnvelope, (a, b, c) => {
      t.same(merge(merge(a, b), c), merge(a, merge(b, c)))
    }),
    { numRuns: 200 }
  )
  t.end()
})

t.test('merging never raises trust, and the result is a valid envelope', t => {
  fc.assert(
    fc.property(anyEnvelope, anyEnvelope, (a, b) => {
      const { trust } = merge(a, b)
      t.ok(trust.authority_rank <= Math.min(a.trust.authority_rank, b.trust.authority_rank))
      const merged = merge(a, b)
      t.same(parseEnvelope(JSON.stringify(merged)), JSON.parse(JSON.stringify(merged)))
    }),
    { numRuns: 100 }
  )
  t.end()
})

t.test('each strategy has the result and outcome of the table in the README', t => {
  const previous = envelope({ envelope_id: 'old', trust: { ...envelope().trust, confidence: 0.5 } })
  const ranked = (authority_rank: number, confidence: number): Partial<ContextEnvelope> => ({
    envelope_id: 'new',
    trust: { ...envelope().trust, authority_rank, confidence }
  })
  const cases = [
    ['append_only', ranked(9, 1), 'kept_previous_append_only', 'old'],
    ['last_write_wins', ranked(0, 0), 'took_incoming_last_write', 'new'],
    ['authority_precedence', ranked(100, 0), 'took_incoming_authority', 'new'],
    ['authority_precedence', ranked(99, 1), 'kept_previous_authority', 'old'],
    ['confidence_weighted', ranked(0, 0.5), 'took_incoming_confidence', 'new'],
    ['confidence_weighted', ranked(10_000, 0.4), 'kept_previous_confidence', 'old'],
    ['manual_review', ranked(1, 1), 'not_stored', 'old'],
    ['crdt_merge', ranked(1, 1), 'crdt_merged', 'ctx-crdt-merge-5']
  ] as const
  for (const [strategy, change, outcome, id] of cases) {
    const merged = mergeEnvelopes(previous, withStrategy(strategy, change), 5)
    t.same([merged.outcome, merged.envelope.envelope_id], [outcome, id], `${strategy} ${outcome}`)
    t.equal(mergeEnvelopes(null, withStrategy(strategy, change), 5).outcome, 'initial_store')
  }
  t.end()
})

t.test('the size of summaries is limited', t => {
  let merged = envelope()
  for (let at = 0; at < 200; at += 1) {
    merged = merge(merged, withStrategy('crdt_merge', { content: { summary_text: `${at} ${'x'.repeat(1000)}` } }))
  }
  t.ok(Buffer.byteLength(merged.content.summary_text) < 66_000)
  t.match(merged.content.summary_text, /\n199 x+$/)
  t.notMatch(merged.content.summary_text, /being rewritten/)
  t.end()
})

t.test('every rule of the lifecycle reports its violation, and a valid envelope has none', t => {
  const expected = { repository_id: 'test', session_id: 's', now: 2_000_000 }
  t.same(violationsOf(envelope(), expected), [])
  t.same(violationsOf(envelope({ expires_at_unix_ms: 2_000_000, stale_after_ms: 1_000_000 }), expected), [])
  const { trust, provenance } = envelope()
  const cases: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ schema_version: 2 }, /^schema_version is 2/],
    [{ envelope_id: ' ' }, /^envelope_id/],
    [{ provenance: { ...provenance, source_system: '' } }, /^provenance\.source_system/],
    [{ subject: { repository_id: '' } }, /^subject\.repository_id is empty/],
    [{ subject: { repository_id: 'x' } }, /^subject\.repository_id is "x", but this repository is "test"/],
    [{ created_at_unix_ms: 0 }, /^created_at_unix_ms/],
    [{ expires_at_unix_ms: 1_999_999 }, /^expires_at_unix_ms/],
    [{ stale_after_ms: 999_999 }, /^stale_after_ms/],
    [{ trust: { ...trust, authority_rank: 10_001 } }, /^trust\.authority_rank/],
    [{ subject: { repository_id: 'test', session_id: 'other' } }, /^subject\.session_id/],
    [{ obo_token: 'forged' }, /^obo_token/]
  ]
  for (const [change, violation] of cases) {
    const found = violationsOf({ ...envelope(), ...change } as ContextEnvelope, expected)
    t.match(found, [violation])
    t.equal(found.length, 1, String(violation))
  }
  t.end()
})
