import fc from 'fast-check'
import t from 'tap'
import {
  type ApprovalFacts,
  approvalTier,
  attentionWeight,
  externalIntent,
  hasHumanApproval,
  testDecision,
  workTokens
} from '#policy'

const settings = {
  entropy_auto_approve_threshold: 0.15,
  min_observations: 10,
  auto_approve_min_trust: 0.85,
  untrusted_max_writes_before_block: 3,
  trusted_single_file_confirm_limit: 1
}
const plain: ApprovalFacts = {
  external: null,
  writes: 1,
  tier: 'Untrusted',
  trust: 0.5,
  approvals: 0,
  entropy: 1,
  approved: false
}
const tierOf = (facts: Partial<ApprovalFacts>) => approvalTier(settings, { ...plain, ...facts }).tier

t.test('the first matching rule decides the approval tier', async t => {
  t.equal(tierOf({ external: 'a word', tier: 'System', writes: 0 }), 'Blocked')
  t.equal(tierOf({ writes: 4 }), 'Blocked')
  t.equal(tierOf({ writes: 4, tier: 'Provisional' }), 'Review')
  const proven = { entropy: 0.1, approvals: 10, trust: 0.85, writes: 9 }
  t.equal(tierOf({ ...proven, tier: 'Trusted' }), 'AutoApprove')
  t.equal(tierOf({ ...proven, tier: 'Provisional' }), 'Review')
  t.equal(tierOf({ ...proven, tier: 'Trusted', entropy: 0.15 }), 'Review')
  t.equal(tierOf({ ...proven, tier: 'Trusted', approvals: 9 }), 'Review')
  t.equal(tierOf({ ...proven, tier: 'Trusted', trust: 0.84 }), 'Review')
  t.equal(tierOf({ writes: 0 }), 'AutoApprove')
  t.equal(tierOf({ tier: 'System', writes: 9 }), 'AutoApprove')
  t.equal(tierOf({ tier: 'Trusted', writes: 1 }), 'Confirm')
  t.equal(tierOf({ tier: 'Trusted', writes: 2 }), 'Review')
  t.equal(tierOf({ tier: 'Provisional' }), 'Review')
  t.equal(tierOf({}), 'Review')
})

t.test('human approval turns Blocked into Review, and changes nothing else', async () => {
  const facts = fc.record({
    external: fc.option(fc.constant('a word')),
    writes: fc.nat(10),
    tier: fc.constantFrom('Untrusted', 'Provisional', 'Trusted', 'System'),
    trust: fc.double({ min: 0, max: 1, noNaN: true }),
    approvals: fc.nat(50),
    entropy: fc.double({ min: 0, max: 1, noNaN: true })
  }) as fc.Arbitrary<Omit<ApprovalFacts, 'approved'>>
  fc.assert(
    fc.property(facts, each => {
      const without = tierOf({ ...each, approved: false })
      const withWord = tierOf({ ...each, approved: true })
      return without === 'Blocked' ? withWord === 'Review' : withWord === without
    })
  )
})

t.test('detects tasks beyond the repository by words and paths', async t => {
  for (const text of [
    'Deploy it',
    'in production',
    'publish it',
    'see https://example.org',
    'curl it',
    'run kubectl',
    'the API key'
  ])
    t.not(externalIntent(text, []), null, text)
  t.match(externalIntent('nothing', [{ path: 'ops/Deploy.yaml', access: 'read' }]), /ops\/Deploy\.yaml/)
  t.equal(externalIntent('Fix the publisher and the secrets table', []), null)
  t.ok(hasHumanApproval('[Human-Approved] deploy', []))
  t.ok(hasHumanApproval('deploy', [' Human_Review_Approved ']))
  t.notOk(hasHumanApproval('[approved] deploy', ['tests']))
})

t.test('requires tests for source code, security, weak evidence and complex tasks', async t => {
  const of = (description: string, files: readonly string[] = [], more: object = {}) =>
    testDecision({
      description,
      complexity: 5,
      files: files.map(path => ({ path, access: 'write' as const })),
      ...more
    }).decision
  t.equal(of('Rotate the auth tokens', ['README.md']), 'Required')
  t.equal(of('Fix authorization of guests', ['README.md']), 'Required')
  t.equal(of('Answer unauthorized calls by OAuth', ['README.md']), 'Required')
  t.equal(of('Thank the authors', ['README.md', 'docs/a.md']), 'Skip')
  t.equal(of('Fix it', ['src/a.ts']), 'Required')
  t.equal(of('Fix it', ['config.toml'], { band: 'Low' }), 'Required')
  t.equal(of('Fix it', [], { complexity: 7 }), 'Required')
  t.equal(of('Fix it', ['a.toml', 'b.toml']), 'Required')
  t.equal(of('Find out', [], { evidenceGap: 0.5 }), 'Deferred')
  t.equal(of('Find out', [], { evidenceGap: 0.4 }), 'Optional')
  t.equal(of('Find out'), 'Optional')
})

t.test('estimates tokens and interruption costs by their formulas', async t => {
  t.equal(workTokens('CodeGen', 5), 2000)
  t.equal(workTokens('Visus', 10), 32_000)
  t.equal(workTokens('General', 1), 40)
  const tlx = {
    tlx_mental: 0.35,
    tlx_temporal: 0.25,
    tlx_frustration: 0.2,
    tlx_trust_discount: 0.2
  }
  const load = {
    complexity: 5,
    tokens: 1000,
    priority: 'Normal',
    recentRejections: 5,
    trust: 0.5,
    concurrent: 1
  } as const
  // 0.35 * 0.26 + 0.25 * 0.5 + 0.2 * 0.5 + 0.2 * 0.5
  t.ok(Math.abs(attentionWeight(tlx, load) - 0.416) < 1e-12)
  t.ok(
    Math.abs(attentionWeight(tlx, { ...load, concurrent: 100 }) - 3 * 0.416) < 1e-12,
    'concurrent tasks triple the weight at most'
  )
})
