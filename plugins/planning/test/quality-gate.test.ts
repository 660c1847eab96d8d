import { defaultQgatePolicy } from '@svc/contracts'
import t from 'tap'
import { type AdequacyReport, planQgate, qualityCodes } from '#assess'

t.test('qualityCodes returns a code for each problem of a step', async t => {
  const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ['Update the parser for tabs', ['src/parser.ts'], []],
    ['Fix it', [], ['vague_short']],
    ['Fix a b', [], ['vague_short']],
    ['Reimplement everything', [], ['vague_short', 'vague_phrase']],
    ['the parser is slow and wrong', [], ['vague_phrase']],
    ['Update the parser for tabs', ['src/parser.ts', ' '], ['manifest_empty_path']],
    ['Update the parser: TBD', [], ['tbd_placeholder']],
    ['Update the parser for tabs', ['TBD'], ['tbd_placeholder']]
  ]
  for (const [description, files, codes] of cases) t.same(qualityCodes(description, files), codes, description)
})

t.test('a destructive step has the code risk_destructive, unless it mentions a safeguard', async t => {
  for (const words of [
    'rm -rf the cache',
    'drop table users',
    'DROP DATABASE main',
    'truncate the log',
    'delete all rows',
    'wipe the disk',
    'nuke the cluster',
    'format disk two',
    'purge the queue'
  ]) {
    t.same(qualityCodes(`Run ${words} on the server`, []), ['risk_destructive'], words)
    for (const guard of ['backup', 'snapshot', 'confirm', 'dry-run', 'dry run', 'safeguard', 'rollback', 'revert'])
      t.same(qualityCodes(`Run ${words} on the server with ${guard}`, []), [], `${words} with ${guard}`)
  }
  t.same(qualityCodes('Format the sources of the disk driver', []), [])
})

t.test('the thresholds of socrates_policy decide about a plan', async t => {
  const report = (risk: number, conflicts = 0) =>
    ({
      adequacy: { score: 1 },
      aggregate_unresolved_risk: risk,
      per_task: Array.from({ length: conflicts }, () => ({ reason_codes: ['deps_incomplete_or_order'] })),
      suggested_clarifying_questions: []
    }) as unknown as AdequacyReport
  const decision = (risk: number, conflicts = 0, over: Partial<typeof defaultQgatePolicy> = {}) =>
    planQgate(report(risk, conflicts), [], null, { ...defaultQgatePolicy, ...over }).risk_decision
  t.equal(decision(0.4), 'Answer')
  t.equal(decision(0.4, 0, { ask_for_help_threshold: 0.7 }), 'Ask')
  t.equal(decision(0.4, 0, { abstain_threshold: 0.7 }), 'Abstain')
  t.equal(decision(0, 2), 'Answer')
  t.equal(decision(0, 2, { max_contradiction_ratio_for_answer: 0.2 }), 'Ask')
})
