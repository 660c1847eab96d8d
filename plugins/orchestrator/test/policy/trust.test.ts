import fc from 'fast-check'
import t from 'tap'
import { TrustLedger } from '#policy'

const settings = { trust_ewma_alpha: 0.1, trust_provisional_threshold: 5, trust_trusted_threshold: 20 }
const ledger = (over: Partial<typeof settings> = {}): TrustLedger => new TrustLedger(() => ({ ...settings, ...over }))

t.test('an agent without outcomes is Untrusted, with a score of 0.5', async t => {
  t.strictSame(ledger().of(7), {
    agent_id: 7,
    score: 0.5,
    tier: 'Untrusted',
    outcomes: 0,
    overridden: false,
    reliability: 0.5
  })
  t.strictSame(ledger().approvals(7), { count: 0, entropy: 1 })
  t.equal(ledger().rollup(7), null)
})

t.test('the score is a moving average of the outcomes with weight alpha', async t => {
  const trust = ledger()
  t.equal(trust.observe(1, true).score, 0.55)
  t.ok(Math.abs(trust.observe(1, false).score - 0.495) < 1e-12)
  t.equal(trust.of(1).reliability, 0.5, 'one success, one failure: (1 + 1) / (2 + 2)')
})

t.test('successes raise the tier, but never to System', async t => {
  const trust = ledger()
  const tiers = Array.from({ length: 100 }, () => trust.observe(1, true).tier)
  t.equal(tiers.indexOf('Provisional'), 4, 'the fifth success leads to Provisional')
  t.equal(tiers.indexOf('Trusted'), 19, 'the twentieth success leads to Trusted')
  t.notOk(tiers.includes('System'))
})

t.test('three outcomes in a row below the floor lower the tier', async t => {
  const trust = ledger({ trust_ewma_alpha: 0.3 })
  for (let i = 0; i < 20; i++) trust.observe(1, true)
  t.equal(trust.of(1).tier, 'Trusted')
  const tiers = [1, 2, 3, 4, 5, 6, 7].map(() => trust.observe(1, false).tier)
  // 1 -> 0.70 - epsilon -> 0.49 -> 0.34 are three below 0.70; 0.24, 0.17 and 0.12 are three below 0.45.
  t.strictSame(tiers.slice(0, 4), ['Trusted', 'Trusted', 'Provisional', 'Provisional'])
  t.equal(tiers.at(-1), 'Untrusted')
})

t.test('an operator can override tier and score', async t => {
  const trust = ledger()
  t.match(trust.override(1, 'System', null), { tier: 'System', score: 0.95, overridden: true })
  t.match(trust.override(1, null, 0.75), { tier: 'Trusted', score: 0.75, overridden: true })
  t.match(trust.override(1, 'Provisional', 3), { tier: 'Provisional', score: 1 })
  t.match(
    trust.override(1, null, null),
    { tier: 'Provisional', score: 1, overridden: false },
    'null for both only removes the flag'
  )
})

t.test('entropy is low only if outcomes hardly vary', async t => {
  const trust = ledger()
  for (let i = 0; i < 60; i++) trust.observe(1, true)
  const { count, entropy } = trust.approvals(1)
  t.equal(count, 50, 'at most 50 successes count as approvals')
  t.ok(entropy < 0.15)
  for (let i = 0; i < 10; i++) trust.observe(1, false)
  t.ok(trust.approvals(1).entropy > 0.15)
})

t.test('scores stay in [0, 1], and a restored ledger behaves the same', async () => {
  const step = fc.oneof(
    fc.boolean(),
    fc.record({
      tier: fc.option(fc.constantFrom('Untrusted', 'Provisional', 'Trusted', 'System')),
      score: fc.option(fc.double({ min: -2, max: 3, noNaN: true }))
    })
  )
  fc.assert(
    fc.property(
      fc.array(step),
      fc.array(fc.boolean()),
      fc.double({ min: 0.01, max: 1, noNaN: true }),
      (steps, after, alpha) => {
        const trust = ledger({ trust_ewma_alpha: alpha })
        for (const each of steps) {
          const seen =
            typeof each === 'boolean' ? trust.observe(1, each) : trust.override(1, each.tier as never, each.score)
          if (!(seen.score >= 0 && seen.score <= 1)) return false
          if (
            seen.tier === 'System' &&
            typeof each === 'boolean' &&
            !seen.overridden &&
            !steps.some(s => typeof s !== 'boolean')
          )
            return false
        }
        const stored = trust.serialise('1')
        if (stored === null) return steps.length === 0
        const other = ledger({ trust_ewma_alpha: alpha })
        other.restore('1', stored)
        for (const success of after) {
          trust.observe(1, success)
          other.observe(1, success)
        }
        return JSON.stringify(trust.of(1)) === JSON.stringify(other.of(1)) && trust.rollup(1) === other.rollup(1)
      }
    )
  )
})

t.test('an invalid record gets initial values, and a removed agent is absent', async t => {
  const trust = ledger()
  trust.restore('1', '{"score":"high","tier":"King","successes":-4,"rollup":7}')
  t.match(trust.of(1), { score: 0.5, tier: 'Untrusted', outcomes: 0 })
  t.throws(() => trust.restore('2', '{'))
  trust.observe(1, true)
  trust.forget(1)
  t.equal(trust.serialise('1'), null)
  t.equal(trust.of(1).outcomes, 0)
})
