import { contradictionRatio, defaultQgatePolicy, evaluateQgate, type QgateContext } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'

const weigh = (context: QgateContext) => evaluateQgate(context, defaultQgatePolicy)
const near = (one: number, other: number): boolean => Math.abs(one - other) < 1e-12

t.test('the contradiction ratio grows with each contradiction', async t => {
  t.strictSame(
    [0, 1, 2, 3, 4, 5].map(contradictionRatio).map(each => Number(each.toFixed(2))),
    [0, 0.15, 0.28, 0.66, 0.88, 1]
  )
})

t.test('computes each term of the confidence', async t => {
  const half: QgateContext = { required_citations: 4, evidence_count: 2 }
  t.equal(weigh({}).confidence, 1, 'the confidence is 1 if no evidence is required')
  t.equal(weigh(half).confidence, 0.5)
  t.equal(weigh({ ...half, citation_coverage: 0.75 }).confidence, 0.75)
  t.ok(near(weigh({ ...half, retrieval_tier: 'hybrid' }).confidence, 0.55))
  t.ok(near(weigh({ ...half, retrieval_tier: 'lexical_fallback' }).confidence, 0.42))
  t.ok(near(weigh({ ...half, factual_mode: true }).confidence, 0.175))
  t.ok(near(weigh({ ...half, evidence_quality: 0.5 }).confidence, 0.55))
  t.ok(near(weigh({ ...half, source_diversity: 2 }).confidence, 0.54))
  t.ok(near(weigh({ ...half, evidence_quality: 0.6, verification_performed: true }).confidence, 0.59))
  t.ok(near(weigh({ ...half, evidence_shape: 'contradictory' }).confidence, 0.4))
  t.ok(near(weigh({ ...half, evidence_shape: 'empty' }).confidence, 0.38))
  t.ok(near(weigh({ ...half, evidence_shape: 'narrow' }).confidence, 0.47))
  t.ok(near(weigh({ ...half, fatigued: true }).confidence, 0.1))
})

t.test('derives the risk band and the decision', async t => {
  const at = (evidence_count: number, contradiction_hints = 0) => {
    const { band, decision } = weigh({ required_citations: 100, evidence_count, contradiction_hints })
    return [band, decision]
  }
  t.strictSame(at(34), ['Low', 'Abstain'])
  t.strictSame(at(35), ['Medium', 'Ask'])
  t.strictSame(at(54), ['Medium', 'Ask'])
  t.strictSame(at(55), ['High', 'Answer'])
  t.strictSame(at(100, 3), ['Low', 'Abstain'], 'contradictory evidence leads to Abstain')
  const other = { required_citations: 100, evidence_count: 10, citation_coverage: 0.9, contradiction_hints: 3 }
  t.match(weigh(other), { band: 'Medium', decision: 'Ask' }, 'contradictions with little evidence lead to Ask')
  t.match(weigh({ fabricated_receipts: true }), { decision: 'Abstain' })
})

t.test('confidence stays in [0, 1], and more evidence never lowers it', async () => {
  const ratio = fc.double({ min: 0, max: 1, noNaN: true })
  const context = fc.record(
    {
      required_citations: fc.nat(10),
      evidence_count: fc.nat(10),
      citation_coverage: ratio,
      contradiction_hints: fc.nat(6),
      source_diversity: fc.nat(3),
      evidence_quality: ratio,
      retrieval_tier: fc.constantFrom('hybrid', 'bm25', 'lexical_fallback', 'vector'),
      verification_performed: fc.boolean(),
      factual_mode: fc.boolean(),
      evidence_shape: fc.constantFrom('contradictory', 'empty', 'narrow', 'broad'),
      fatigued: fc.boolean(),
      fabricated_receipts: fc.boolean()
    },
    { requiredKeys: [] }
  ) as fc.Arbitrary<QgateContext>
  fc.assert(
    fc.property(context, fc.nat(5), ratio, ratio, (each, evidence, quality, citations) => {
      const { confidence } = weigh(each)
      const more = weigh({
        ...each,
        evidence_count: (each.evidence_count ?? 0) + evidence,
        evidence_quality: Math.max(each.evidence_quality ?? 0, quality),
        citation_coverage: Math.max(each.citation_coverage ?? 0, citations)
      })
      return confidence >= 0 && confidence <= 1 && more.confidence >= confidence
    }),
    { numRuns: 500 }
  )
})
