import type { Attestation, GateName, TaskView } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import {
  BUILT_IN_GATES as GATES,
  type GateContext,
  type GateSettings,
  type GatheredEvidence,
  groundingOf,
  runGates
} from '#gates'
import type { GateOutcome } from '#state'
import { honest, settings, task, trust } from './task.ts'

const nothing: GatheredEvidence = { files: [], brokenLinks: [], envelope: null }

interface GateFixture {
  readonly task?: Partial<TaskView>
  readonly attestation?: Attestation | null
  readonly settings?: Partial<GateSettings>
  readonly evidence?: Partial<GatheredEvidence>
  readonly rollup?: number | null
  readonly reliability?: number
}

function run(fixture: GateFixture = {}): GateOutcome {
  const attestation = fixture.attestation === undefined ? honest : fixture.attestation
  const subject = task(fixture.task)
  const evidence = { ...nothing, ...fixture.evidence }
  const context: GateContext = {
    task: subject,
    attestation,
    evidence,
    trust: { ...trust, reliability: fixture.reliability ?? 0.5 },
    rollup: fixture.rollup ?? null,
    grounding: subject.qgate === undefined ? null : groundingOf(subject.qgate, attestation, evidence.envelope),
    settings: { ...settings, ...fixture.settings }
  }
  const gates = GATES.map(gate => ({ ...gate, ask: () => gate.ask(context) }))
  return runGates(gates, subject, context.settings, 1_000)
}

const verdictOf = (outcome: GateOutcome, gate: GateName) =>
  outcome.records.find(record => record.gate === gate)?.verdict

t.test('runs the gates in their order', async t => {
  t.strictSame(
    GATES.map(gate => gate.name),
    ['behavioral', 'research', 'approval', 'trust', 'harness', 'stubcheck', 'doc_links', 'qgate', 'grounding']
  )
  const outcome = run()
  t.equal(outcome.kind, 'pass')
  t.strictSame(
    outcome.records.map(record => record.gate),
    GATES.map(gate => gate.name)
  )
  t.ok(outcome.records.every(record => record.timestamp_ms === 1_000 && record.detail !== ''))
})

/** An input that fails each gate and passes all gates before it. */
const FAILING: readonly (readonly [GateName, GateFixture, counter: string, atLimit: string, heading: RegExp])[] = [
  [
    'behavioral',
    {
      settings: { behavioral_gate_on_complete: true },
      evidence: { tests: { command: 'npm test', ok: false, reason: 'it exited with 1', output: '' } }
    },
    'debug_iterations',
    'ORC_VALIDATION_FAILED',
    /^\n\n\[BEHAVIORAL GATE\] npm test failed/
  ],
  [
    'research',
    { task: { role: 'researcher' } },
    'debug_iterations',
    'ORC_VALIDATION_FAILED',
    /\[SCHEMA COMPLIANCE GATE\]/
  ],
  [
    'approval',
    { task: { approval_tier: 'Review' } },
    'debug_iterations',
    'ORC_ATTESTATION_REQUIRED',
    /\[APPROVAL GATE\]/
  ],
  [
    'trust',
    { rollup: 0.2, attestation: { ...honest, checks_passed: [], artifact_paths: ['a'] } },
    'stubcheck_iterations',
    'pass',
    /\[TRUST GATE\]/
  ],
  [
    'harness',
    {
      settings: { harness_completion_guard: 'enforce' },
      task: { harness_spec_json: '{"contracts":{"required_outputs":[{"artifact_id":"r","path_hint":"out/r.md"}]}}' }
    },
    'debug_iterations',
    'ORC_SCOPE_DENIED',
    /\[HARNESS COMPLETION GATE\] .*out\/r\.md/
  ],
  ['stubcheck', { attestation: null }, 'stubcheck_iterations', 'ORC_SCOPE_DENIED', /\[AUTO-DEBUG ITERATION 1\]/],
  [
    'stubcheck',
    { evidence: { files: [{ path: 'a.ts', state: 'missing' }] } },
    'stubcheck_iterations',
    'pass',
    /\[AUTO-DEBUG ITERATION 1\] 1 error: a\.ts does not exist/
  ],
  [
    'doc_links',
    {
      settings: { completion_markdown_link_audit_enabled: true },
      evidence: { brokenLinks: [{ file: 'a.md', line: 3, target: 'b.md' }] }
    },
    'debug_iterations',
    'pass',
    /\[DOC INTEGRITY GATE\].*a\.md:3 to b\.md/
  ],
  [
    'qgate',
    { settings: { qgate_gate_enforce: true }, task: { qgate: { required_citations: 4, evidence_count: 2 } } },
    'qgate_iterations',
    'pass',
    /\[QGATE\] Ask: confidence 0\.50/
  ],
  [
    'grounding',
    {
      settings: { completion_grounding_enforce: true },
      task: { qgate: {} },
      attestation: { ...honest, evidence_citations: ['doc-1'] }
    },
    'qgate_iterations',
    'pass',
    /\[GROUNDING GATE\] declared_not_in_envelope: doc-1/
  ]
]

t.test('a failing gate requeues the task up to its limit, and then rejects or passes it', async t => {
  for (const [gate, fixture, counter, atLimit, heading] of FAILING) {
    const first = run(fixture)
    t.match(first, { kind: 'requeue', gate, counter, note: heading, reason: /./ }, `${gate} sends it back`)
    t.equal(verdictOf(first, gate), 'requeue')
    t.equal(first.records.at(-1)?.gate, gate, 'no later gate runs')
    t.match(
      run({ ...fixture, task: { ...fixture.task, [counter]: 2 } }),
      { kind: 'requeue' },
      `${gate} sends it back a third time`
    )
    const last = run({ ...fixture, task: { ...fixture.task, [counter]: 3 } })
    if (atLimit === 'pass') {
      t.match(last, { kind: 'pass' }, `${gate} passes it at the limit`)
      t.equal(verdictOf(last, gate), 'pass_at_limit')
    } else {
      t.match(last, { kind: 'refuse', gate, error: { code: atLimit } }, `${gate} rejects it at the limit`)
      t.equal(verdictOf(last, gate), 'refuse')
    }
  }
})

t.test('messages of rejections begin with the protocol’s prefixes', async t => {
  const words: Record<string, RegExp> = {
    behavioral: /^Task validation failed: T-0042/,
    research: /^Task validation failed: /,
    approval: /^Approval attestation required: /,
    harness: /^Scope denied: /,
    stubcheck: /^Scope denied: /
  }
  for (const [gate, fixture, counter, atLimit] of FAILING) {
    if (atLimit === 'pass') continue
    const outcome = run({ ...fixture, task: { ...fixture.task, [counter]: 3 } })
    t.match(outcome.kind === 'refuse' && outcome.error.message, words[gate] ?? /^$/, gate)
  }
})

t.test('each approval tier has its requirements', async t => {
  const kind = (approval_tier: 'Confirm' | 'Review' | 'Blocked' | 'AutoApprove', attestation: Attestation) =>
    verdictOf(run({ task: { approval_tier }, attestation }), 'approval')
  t.equal(kind('AutoApprove', {}), 'pass')
  t.equal(kind('Confirm', {}), 'requeue')
  t.equal(kind('Confirm', { declared_non_placeholder: true }), 'pass')
  t.equal(kind('Confirm', { checks_passed: ['lint'] }), 'pass')
  t.equal(kind('Review', { checks_passed: ['lint'] }), 'requeue')
  for (const check of [' Human_Review_Approved', 'peer_review_approved', 'APPROVAL_REVIEWED '])
    t.equal(kind('Review', { checks_passed: ['lint', check] }), 'pass', check)
  t.equal(kind('Blocked', { checks_passed: ['human_review_approved'] }), 'requeue')
  t.equal(
    verdictOf(run({ task: { approval_tier: 'Blocked' }, settings: { tier_enforcement: false } }), 'approval'),
    'skipped'
  )
})

t.test('an attestation must be complete', async t => {
  const detail = (attestation: Attestation, files: TaskView['files'] = []) => {
    const outcome = run({ attestation, task: { files } })
    return outcome.kind === 'requeue' ? outcome.reason : null
  }
  const writes = [{ path: './src/a.ts', access: 'write' }] as const
  t.match(detail({ ...honest, force_risky: true, force_risky_reason: ' ' }), /force_risky_reason/)
  t.match(detail(honest, writes), /artifact_paths lacks .*src\/a\.ts/)
  t.equal(detail({ ...honest, artifact_paths: ['src\\a.ts'] }, writes), null)
  t.match(detail({ ...honest, declared_non_placeholder: false }), /declared_non_placeholder/)
  t.match(detail({ ...honest, completion_summary: 'done' }), /4 characters/)
  t.match(detail({ ...honest, completion_summary: 'The rest is a placeholder for later.' }), /"placeholder"/)
  t.equal(
    detail({ ...honest, completion_summary: 'The stubborn todos-app is fixed at last.' }),
    null,
    'only whole words count'
  )
  t.match(detail({ ...honest, checks_passed: [] }), /both empty/)
})

t.test('the scan decides, unless force_risky overrides it with a reason', async t => {
  const stubs = [
    {
      ruleId: 'stub/todo',
      ruleName: 'todo!() is left',
      severity: 'error',
      file: 'a.rs',
      line: 3,
      column: 1,
      message: 'todo!() panics when it is reached',
      context: 'todo!()'
    }
  ] as const
  const evidence = { files: [{ path: 'a.rs', state: 'read', stubs }] } as const
  t.match(run({ evidence }), {
    kind: 'requeue',
    reason: '1 error: a.rs:3 todo!() panics when it is reached [stub/todo]'
  })
  const risky = { ...honest, force_risky: true, force_risky_reason: 'the macro is the subject of a test' }
  const outcome = run({ evidence, attestation: risky })
  t.equal(outcome.kind, 'pass')
  t.equal(verdictOf(outcome, 'stubcheck'), 'shadow')
  const warned = { files: [{ path: 'a.rs', state: 'read', stubs: [{ ...stubs[0], severity: 'warning' }] }] } as const
  const large = [{ ...stubs[0], ruleId: 'arch/god_object' }]
  t.match(
    run({ evidence: { files: [{ path: 'a.rs', state: 'read', stubs: large }] } }).records[5],
    { verdict: 'pass', data: { warnings: 1 } },
    'the size of a file does not hold a task up'
  )
  t.match(run({ evidence: warned }).records[5], { verdict: 'pass', data: { warnings: 1 } })
  const gone = { files: [{ path: 'old.ts', state: 'missing' }] } as const
  t.equal(
    run({ evidence: gone, attestation: { ...honest, completion_summary: 'Removed the old parser altogether.' } }).kind,
    'pass'
  )
  const outside = { files: [{ path: '../x', state: 'outside' }] } as const
  t.match(run({ evidence: outside }), { kind: 'requeue', reason: /\.\.\/x is outside/ })
})

t.test('compares the outputs of a harness with the artifacts', async t => {
  const harness_spec_json = JSON.stringify({
    contracts: {
      required_outputs: [
        { artifact_id: 'report', path_hint: './out/report.md', required: true },
        { artifact_id: 'notes', path_hint: 'notes.md', required: false },
        { artifact_id: 'log' }
      ],
      completion_gates: [{ gate_id: 'sources', evidence_required: true }]
    }
  })
  const guarded = (attestation: Attestation, guard: GateSettings['harness_completion_guard'] = 'strict') =>
    verdictOf(
      run({ task: { harness_spec_json }, attestation, settings: { harness_completion_guard: guard } }),
      'harness'
    )
  const whole = { ...honest, artifact_paths: ['work/out/report.md'], evidence_citations: ['a'] }
  t.equal(guarded(whole), 'pass', 'an artifact may end with the path hint')
  t.equal(guarded({ ...whole, artifact_paths: ['out/my-report.md'] }), 'requeue')
  t.equal(guarded({ ...whole, evidence_citations: [] }), 'requeue')
  for (const guard of ['shadow', 'warn'] as const) t.equal(guarded(honest, guard), 'shadow')
  t.equal(guarded(honest, 'off'), 'skipped')
  const broken = run({ task: { harness_spec_json: '{' }, settings: { harness_completion_guard: 'enforce' } })
  t.match(broken, { kind: 'requeue', reason: /not valid JSON/ })
})

t.test('the quality gate can be off, in shadow mode, relaxed or strict', async t => {
  const weak = { qgate: { required_citations: 4, evidence_count: 2 } }
  const verdict = (fixture: GateFixture) => verdictOf(run(fixture), 'qgate')
  t.equal(verdict({ task: weak }), 'skipped')
  t.equal(verdict({ task: weak, settings: { qgate_gate_shadow: true } }), 'shadow')
  const enforced = { qgate_gate_enforce: true, trust_gate_relax_enabled: true }
  t.equal(verdict({ task: weak, settings: enforced, reliability: 0.84 }), 'requeue')
  t.equal(verdict({ task: weak, settings: enforced, reliability: 0.85 }), 'relaxed')
  const strict = { ...weak, capabilities: { is_low_confidence_bypass_blocked: true } }
  t.equal(
    verdict({ task: strict, settings: enforced, reliability: 1 }),
    'requeue',
    'is_low_confidence_bypass_blocked disables relaxing'
  )
  const good = { qgate: { required_citations: 4, evidence_count: 4 } }
  t.equal(verdict({ task: good, settings: enforced }), 'pass')
  t.equal(verdict({ task: { qgate: { ...good.qgate, force_research: true } }, settings: enforced }), 'requeue')
  const fair = {
    qgate: { required_citations: 10, evidence_count: 6 },
    capabilities: { is_low_confidence_bypass_blocked: true }
  }
  t.equal(verdict({ task: fair, settings: enforced }), 'requeue', 'strict tasks need a confidence of 0.7')
})

t.test('citations in the envelope count as evidence', async t => {
  const fixture: GateFixture = {
    task: { qgate: { required_citations: 2, evidence_count: 0 } },
    settings: { qgate_gate_enforce: true, completion_grounding_enforce: true },
    attestation: {
      ...honest,
      evidence_citations: ['DOC-1'],
      completion_summary: 'It is so, as [[voxcite: doc-2 ]] explains at length.'
    }
  }
  t.match(run(fixture), { kind: 'requeue', gate: 'qgate' })
  t.equal(run({ ...fixture, evidence: { envelope: 'see doc-1 and doc-2' } }).kind, 'pass')
  t.match(run({ ...fixture, evidence: { envelope: 'see doc-1' } }), { kind: 'requeue', gate: 'qgate' })
})

t.test('requeues never exceed the limits, for any attestation', async () => {
  const maybe = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined })
  const attestation = fc.option(
    fc.record(
      {
        completion_summary: fc.constantFrom(
          '',
          'done',
          honest.completion_summary ?? '',
          'todo: all of it, later on then'
        ),
        checks_passed: fc.subarray(['lint', 'peer_review_approved']),
        evidence_citations: fc.subarray(['doc-1', 'doc-2']),
        artifact_paths: fc.subarray(['a.ts', 'b.md']),
        declared_non_placeholder: fc.boolean(),
        force_risky: fc.boolean()
      },
      { requiredKeys: [] }
    )
  ) as fc.Arbitrary<Attestation | null>
  const limit = fc.nat(4)
  const subject = fc.record({
    role: fc.constantFrom('builder', 'researcher'),
    approval_tier: fc.constantFrom('AutoApprove', 'Confirm', 'Review', 'Blocked'),
    qgate: maybe(fc.record({ required_citations: fc.nat(3), evidence_count: fc.nat(3), factual_mode: fc.boolean() })),
    files: fc.subarray([{ path: 'a.ts', access: 'write' as const }])
  })
  const switches = fc.record({
    max_debug_iterations: limit,
    max_stubcheck_debug_iterations: limit,
    max_qgate_debug_iterations: limit,
    stubcheck_gate: fc.boolean(),
    qgate_gate_enforce: fc.boolean(),
    completion_grounding_enforce: fc.boolean(),
    completion_markdown_link_audit_enabled: fc.boolean()
  })
  const rollup = fc.option(fc.double({ min: 0, max: 1, noNaN: true }))
  fc.assert(
    fc.property(
      subject,
      fc.array(attestation, { minLength: 1, maxLength: 20 }),
      switches,
      rollup,
      (each, attempts, gates, low) => {
        const counters = { debug_iterations: 0, stubcheck_iterations: 0, qgate_iterations: 0 }
        const limits = {
          debug_iterations: gates.max_debug_iterations,
          stubcheck_iterations: gates.max_stubcheck_debug_iterations,
          qgate_iterations: gates.max_qgate_debug_iterations
        }
        const evidence = { brokenLinks: [{ file: 'b.md', line: 1, target: 'c.md' }] }
        for (const fixture of attempts) {
          const outcome = run({
            task: { ...each, ...counters } as Partial<TaskView>,
            attestation: fixture,
            settings: gates,
            evidence,
            rollup: low
          })
          const order = outcome.records.map(record => GATES.findIndex(gate => gate.name === record.gate))
          if (order.some((index, at) => index !== at)) return false
          const isLast = outcome.records.every(
            (record, at) => at === outcome.records.length - 1 || !['requeue', 'refuse'].includes(record.verdict)
          )
          if (!isLast) return false
          if (outcome.kind === 'pass' && outcome.records.length !== GATES.length) return false
          if (outcome.kind === 'requeue') counters[outcome.counter] += 1
          for (const name of Object.keys(counters) as (keyof typeof counters)[])
            if (counters[name] > limits[name]) return false
        }
        return true
      }
    ),
    { numRuns: 150 }
  )
})
