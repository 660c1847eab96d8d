import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { injectedText, oboToken, parseEnvelope, qgateOf, violationsOf } from '#context'
import { checkedJourney, isStorable, storable } from '#root'
import { envelope } from '../envelopes.ts'

const json = (change: object): string => JSON.stringify({ ...envelope(), ...change })
const payload = (structured_payload: unknown): string => json({ content: { summary_text: '', structured_payload } })
const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

t.test('an invalid envelope is rejected with the reason', t => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['', /it is not JSON/],
    ['null', /it must be object/],
    ['[]', /it must be object/],
    ['{}', /it must have required property/],
    ['[['.repeat(60_000), /it is not JSON|nested deeper/],
    ['x'.repeat(131_073), /it has 131073 bytes; the limit is 131072 bytes/],
    [json({ content: { summary_text: 'é'.repeat(65_536) } }), /bytes; the limit is 131072 bytes/],
    [payload(0).replace(':0}', `:${nested(40)}}`), /nested deeper than 32 levels/],
    [payload(0).replace(':0}', `:${'['.repeat(60_000)}${']'.repeat(60_000)}}`), /nested deeper than 32 levels/],
    [payload(0).replace(':0}', ':{"__proto__":{"admin":true}}}'), /a field named __proto__/],
    [payload({ constructor: 1 }), /a field named constructor/],
    [payload({ a: [{ prototype: 1 }] }), /a field named prototype/],
    [payload('a\0b'), /U\+0000/],
    [payload({ 'a\0b': 1 }), /U\+0000/],
    [json({ content: { summary_text: '\ud800' } }), /lone surrogate/],
    [json({ content: { summary_text: 7 } }), /content\.summary_text must be string/],
    [json({ conflict_policy: { merge_strategy: 'overwrite' } }), /merge_strategy must be equal.*append_only/],
    [json({ trust: 'all' }), /trust must be object/],
    [json({ created_at_unix_ms: 1.5 }), /created_at_unix_ms must be integer/]
  ]
  for (const [text, message] of cases)
    t.throws(() => parseEnvelope(text), { code: 'ORC_ENVELOPE_INVALID', message }, text.slice(0, 40))
  t.equal(({} as { admin?: boolean }).admin, undefined)
  t.end()
})

t.test('parses an envelope that only violates a lifecycle rule, and one with unknown fields', t => {
  for (const change of [{ schema_version: 9 }, { envelope_id: '' }, { created_at_unix_ms: -1 }, { vendor: { a: 1 } }])
    t.match(parseEnvelope(json(change)), change)
  t.ok(parseEnvelope(payload(JSON.parse(nested(29)))))
  t.end()
})

t.test('any string is parsed as an envelope or throws ORC_ENVELOPE_INVALID', t => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.json(),
    fc.json().map(value => json({ content: JSON.parse(value) }))
  )
  fc.assert(
    fc.property(text, given => {
      try {
        parseEnvelope(given)
      } catch (error) {
        t.equal((error as { code?: string }).code, 'ORC_ENVELOPE_INVALID')
      }
    }),
    { numRuns: 300 }
  )
  t.end()
})

t.test('journeys have the same bounds', t => {
  const journey = { envelope_version: 1, journey_id: 'j', session_id: 's', repository_id: 'r', origin_surface: 'cli' }
  t.equal(checkedJourney(journey), journey)
  const refused: unknown[] = [
    null,
    'x',
    [],
    { ...journey, origin_surface: 'x' },
    { ...journey, more: JSON.parse(nested(40)) }
  ]
  refused.push(
    { ...journey, more: 'x'.repeat(131_072) },
    { ...journey, session_id: 'a\0' },
    { ...journey, n: Number.NaN }
  )
  for (const value of refused) t.throws(() => checkedJourney(value), { code: 'SES_JOURNEY_INVALID' })
  t.end()
})

t.test('a sanitised string is storable, and a storable string stays unchanged', t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string(), (a, b) => {
      const text = `${a}\ud83d${b}\udc00`
      t.ok(isStorable(storable(text)))
      t.equal(storable(storable(text)), storable(text))
    })
  )
  t.equal(storable('a\ud83d\ude00b'), 'a\ud83d\ude00b')
  t.end()
})

t.test('context for a prompt stays within its budget and never ends within a character', t => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', maxLength: 400 }),
      fc.integer({ min: 0, max: 200 }),
      (summary_text, tokens) => {
        const { text, dropped } = injectedText(envelope({ content: { summary_text } }), 'key', tokens, 0)
        t.ok(Buffer.byteLength(text) <= tokens * 4)
        t.ok(!text.includes('\ufffd') || summary_text.includes('\ufffd'))
        t.equal(dropped > 0 && text !== '', text.endsWith('\n[context truncated]'))
      }
    )
  )
  t.end()
})

t.test('budget and injection mode limit the context; an expired or stale envelope gives none', t => {
  const content = { summary_text: 'S', facts: [{ id: 'f', text: 'F' }], citations: ['C'] }
  const text = (budget: object, now = 0, change: object = {}): string =>
    injectedText(envelope({ content, budget: { ...envelope().budget, ...budget }, ...change }), 'envelope:s', 1000, now)
      .text
  t.match(text({}), /:\nS\n- f: F\n- citation: C$/)
  t.match(text({ injection_mode: 'summary_only' }), /:\nS$/)
  t.match(text({ injection_mode: 'reference_only' }), /:\n- citation: C$/)
  t.match(text({ injection_mode: 'tool_required' }), /svc_get_context.* key is envelope:s/)
  t.equal(text({ max_tokens: 0 }), '')
  t.equal(text({}, 11, { expires_at_unix_ms: 10 }), '')
  t.equal(text({}, 1_000_011, { stale_after_ms: 10 }), '')
  t.end()
})

t.test('a token must match its session, task, thread and time', t => {
  const subject = { repository_id: 'test', session_id: 's', task_id: 4, thread_id: 't' }
  const expected = createHmac('sha256', 's').update('4:t:1000000').digest('base64url')
  const signed = envelope({ subject })
  t.equal(oboToken(signed), expected)
  const rules = { repository_id: 'test', now: 0 }
  t.same(violationsOf({ ...signed, obo_token: expected }, rules), [])
  for (const token of ['', expected.slice(1), `${expected}=`, oboToken({ ...signed, created_at_unix_ms: 1 })])
    t.match(violationsOf({ ...signed, obo_token: token }, rules), [/^obo_token/])
  const anonymous = envelope({ subject: { repository_id: 'test' } })
  t.equal(oboToken(anonymous), createHmac('sha256', 'anonymous_session').update('::1000000').digest('base64url'))
  t.end()
})

t.test('search results become evidence for the quality gate', t => {
  const found = qgateOf({
    memory_hit_count: 2,
    chunk_hit_count: 3,
    rrf_fused_hit_count: 4,
    used_vector: true,
    used_bm25: true,
    source_diversity: 2,
    evidence_quality: 0.7,
    citation_coverage: 1.5,
    verification_performed: true
  })
  t.same(found, {
    evidence_count: 5,
    required_citations: 0,
    citation_coverage: 1,
    contradiction_hints: 0,
    source_diversity: 2,
    evidence_quality: 0.7,
    verification_performed: true,
    evidence_shape: 'broad',
    retrieval_tier: 'hybrid'
  })
  t.match(qgateOf({}), { evidence_count: 0, required_citations: 1, evidence_shape: 'empty' })
  t.match(qgateOf({ memory_hit_count: -3, repo_hit_count: 'many' }), { evidence_count: 0 })
  t.match(qgateOf({ repo_hit_count: 1, contradiction_count: 1 }), { evidence_shape: 'contradictory' })
  t.match(qgateOf({ repo_hit_count: 1, retrieval_tier: 'graph' }), {
    evidence_shape: 'narrow',
    retrieval_tier: 'graph'
  })
  t.end()
})
