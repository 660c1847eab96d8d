import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StubFinding } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import {
  applyFixes,
  applySuppressions,
  compare,
  failing,
  judgeBudget,
  parseBaseline,
  parseBudget,
  parsePlaceSuppressions,
  parseSuppressions,
  planFixes,
  printBaseline,
  RUN_MODES
} from '#policy'
import { envelopeOf, FORMATS, type ProjectScan, render } from '#root'

const finding = (over: Partial<StubFinding> = {}): StubFinding => ({
  ruleId: 'stub/todo',
  ruleName: 'todo!() is left',
  severity: 'error',
  file: 'src/a.rs',
  line: 3,
  column: 1,
  message: 'todo!() panics when it is reached',
  context: 'todo!()',
  ...over
})

const scanOf = (findings: readonly StubFinding[]): ProjectScan => ({
  findings,
  filesScanned: 2,
  notScanned: [{ path: 'big.ts', reason: 'over the size limit per file' }],
  rulesApplied: 60,
  rustParseFailures: 1,
  suppressed: [finding()],
  expiredSuppressions: 0,
  notes: []
})

t.test('each run mode fails from its severity', async t => {
  const all = (['info', 'warning', 'error', 'critical'] as const).map(severity => finding({ severity }))
  const counts = RUN_MODES.map(mode => failing(all, mode).length)
  t.strictSame(Object.fromEntries(RUN_MODES.map((mode, at) => [mode, counts[at]])), {
    legacy: 2,
    audit: 0,
    'enforce-warn': 1,
    'enforce-strict': 3
  })
})

t.test('a baseline accepts its own findings after their lines have moved', async () => {
  const one = fc.record({
    ruleId: fc.constantFrom('stub/todo', 'arch/empty_body'),
    severity: fc.constantFrom('warning', 'error'),
    file: fc.constantFrom('a.ts', 'b.ts'),
    line: fc.integer({ min: 1, max: 99 }),
    context: fc.constantFrom('x', 'y', '')
  })
  fc.assert(
    fc.property(fc.array(one, { maxLength: 20 }), fc.integer({ min: 0, max: 50 }), (parts, shift) => {
      const findings = parts.map(part => finding(part as Partial<StubFinding>))
      const baseline = parseBaseline(printBaseline(findings), 'test')
      const moved = findings.map(each => ({ ...each, line: each.line + shift }))
      const { added, raised, gone } = compare(baseline, moved)
      const more = compare(baseline, [...moved, finding({ file: 'new.ts' })])
      return added.length === 0 && raised.length === 0 && gone === 0 && more.added.length === 1
    }),
    { numRuns: 100 }
  )
})

t.test('a baseline reports new, more severe and vanished findings', async t => {
  const baseline = parseBaseline(printBaseline([finding({ severity: 'warning' }), finding({ file: 'b.rs' })]), 'test')
  const { added, raised, gone } = compare(baseline, [finding(), finding({ file: 'c.rs' })])
  t.strictSame([added.map(({ file }) => file), raised.map(({ file }) => file), gone], [['c.rs'], ['src/a.rs'], 1])
  for (const text of ['', '{}', '[]', '{"version":1}', '{"version":1,"findings":[{}]}', '{"version":2,"findings":[]}'])
    t.throws(() => parseBaseline(text, 'b.json'), { code: 'STB_BASELINE_INVALID' }, text)
})

t.test('a ratchet fails for counts above the budget, and names budgets that can shrink', async t => {
  const findings = [finding(), finding(), finding({ ruleId: 'arch/empty_body', severity: 'warning' })]
  t.strictSame(judgeBudget('ratchet', findings, [{ rule_id: 'stub/todo', count: 1 }]), {
    exceeded: [{ rule_id: 'stub/todo', count: 2, budget: 1 }],
    lowered: []
  })
  t.strictSame(judgeBudget('ratchet', findings, [{ rule_id: 'stub/todo', count: 3 }]).lowered, [
    { rule_id: 'stub/todo', count: 2, budget: 3 }
  ])
  t.strictSame(judgeBudget('warnings', findings, []).exceeded, [{ rule_id: 'arch/empty_body', count: 1, budget: 0 }])
  for (const text of [
    'x',
    '{}',
    '[{}]',
    '[{"rule_id":"a","count":-1}]',
    '[{"rule_id":"a","count":1},{"rule_id":"a","count":1}]'
  ])
    t.throws(() => parseBudget(text, 'budget.json'), { code: 'STB_BUDGET_INVALID' }, text)
})

t.test('a suppression applies to its rules, paths and lines until its date', async t => {
  const entry = { rule_id_prefix: 'stub/', reason: 'the generator needs it', owner: 'ann' }
  const apply = (over: object, now = 0) =>
    applySuppressions(
      [finding()],
      parseSuppressions(JSON.stringify({ version: 1, suppressions: [{ ...entry, ...over }] }), 's.json'),
      [],
      now
    )
  t.equal(apply({}).kept.length, 0)
  t.equal(apply({ path_glob: 'src/**' }).kept.length, 0)
  t.equal(apply({ path_glob: 'lib/**' }).kept.length, 1)
  t.equal(apply({ line: 3 }).kept.length, 0)
  t.equal(apply({ line: 4 }).kept.length, 1)
  const lastMoment = Date.parse('2026-06-30T23:59:59Z')
  t.equal(apply({ expires_after: '2026-06-30' }, lastMoment).kept.length, 0)
  t.match(apply({ expires_after: '2026-06-30' }, lastMoment + 1_000), { kept: [{ line: 3 }], expired: 1 })
  for (const over of [{ reason: '' }, { line: 0 }, { expires_after: 'soon' }, { surplus: 1 }, { path_glob: 3 }])
    t.throws(() => apply(over), { code: 'STB_SUPPRESSIONS_INVALID' }, JSON.stringify(over))
})

t.test('imports the suppressions of a toestub.toml', async t => {
  const places = parsePlaceSuppressions(
    '[[suppress]]\npath = "src/a.rs"\nline = 3\nrule = "stub"\nreason = "test"\n',
    't.toml'
  )
  t.strictSame(places, [{ path: 'src/a.rs', line: 3, rule: 'stub', reason: 'test' }])
  t.equal(applySuppressions([finding()], [], places, 0).kept.length, 0)
  t.equal(applySuppressions([finding({ line: 4 })], [], places, 0).kept.length, 1)
  for (const text of [
    '[[suppress]]\nrule = "a"\n',
    'suppress = 3',
    '[[suppress',
    '[[suppress]]\npath="a"\nrule="b"\nreason="c"\nline=0\n'
  ])
    t.throws(() => parsePlaceSuppressions(text, 't.toml'), { code: 'STB_SUPPRESSIONS_INVALID' }, text)
})

t.test('the envelope counts what was scanned, found and suppressed', async t => {
  const scan = scanOf([finding(), finding({ ruleId: 'unresolved-ref', severity: 'warning' })])
  const envelope = envelopeOf(scan, scan.findings, '1.2.3', 1)
  t.match(envelope, {
    schema_version: 1,
    tool_version: '1.2.3',
    files_scanned: 2,
    rules_applied: 60,
    rust_parse_failures: 1,
    findings_total: 2,
    suppressions_applied: 1,
    suppression_counts_by_family: { stub: 1 },
    unresolved_ref_hot_callers: [{ file: 'src/a.rs', count: 1 }],
    files_not_scanned: [{ file: 'big.ts' }]
  })
  t.equal(envelope.findings.length, 1)
})

t.test('every format shows the place and the rule of a finding', async t => {
  const scan = scanOf([finding({ suggestion: 'write it', context: 'a `b` | <c>' })])
  const envelope = envelopeOf(scan, scan.findings, '1')
  for (const format of FORMATS) {
    const text = render(envelope, format, { suggest: true, colour: false })
    for (const part of ['src/a.rs', '3', 'stub/todo']) t.ok(text.includes(part), `${format} has ${part}`)
    t.match(text, /write it/i)
    const short = render(envelope, format, { suggest: false, colour: false })
    t.equal(/write it/i.test(short), format === 'json', 'findings of the envelope have all of their fields')
    if (format.includes('json')) t.doesNotThrow(() => JSON.parse(text))
  }
  t.ok(render(envelope, 'terminal', { suggest: false, colour: true }).includes('\u001b[31merror'))
})

t.test('fixes change only their lines, and no file that changed after the scan', async t => {
  const root = t.testdir({
    'a.py': 'import logging\nlogger.warn("x")\n# Production ready.\nx = 1\n',
    'b.py': 'a = 1\r\nb = 2\r\n'
  })
  const findings = [
    finding({ ruleId: 'deprecated-usage/python', file: 'a.py', line: 2 }),
    finding({ ruleId: 'victory-claim/premature', file: 'a.py', line: 3 }),
    finding({ ruleId: 'cross-platform/line-endings', file: 'b.py', line: 1 })
  ]
  const fixes = await planFixes(root, findings)
  t.equal(fixes.length, 3)
  t.equal(readFileSync(join(root, 'b.py'), 'utf8'), 'a = 1\r\nb = 2\r\n', 'a plan writes nothing')
  t.equal(await applyFixes(root, fixes), 2)
  t.equal(readFileSync(join(root, 'a.py'), 'utf8'), 'import logging\nlogger.warning("x")\nx = 1\n')
  t.equal(readFileSync(join(root, 'b.py'), 'utf8'), 'a = 1\nb = 2\n')
  const stale = await planFixes(root, [finding({ ruleId: 'deprecated-usage/python', file: 'a.py', line: 2 })])
  t.strictSame(stale, [], 'a fixed line needs no fix')
  writeFileSync(join(root, 'a.py'), 'logger.warn("y")\n')
  await t.rejects(applyFixes(root, fixes), { code: 'STB_FIX_REFUSED', message: /changed after the scan/ })
})
