import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attestation, ContextEnvelope, StubScanner, TaskView } from '@svc/contracts'
import t, { type Test } from 'tap'
import {
  builtInGates,
  CompletionGates,
  declaredRefs,
  detectTestCommand,
  envelopeText,
  fileLinks,
  type GateSettings,
  groundingOf,
  inspectFiles,
  isJson,
  runTests
} from '#gates'
import { fakeScanner } from './fake-scanner.ts'
import { honest, settings, task, trust } from './task.ts'

const envelope: ContextEnvelope = {
  schema_version: 1,
  envelope_type: 'retrieval_evidence',
  envelope_id: 'env-7',
  created_at_unix_ms: 1,
  provenance: { source_plane: 'search', source_system: 'test', capture_mode: 'retrieved' },
  trust: { trust_tier: 'trusted', authority_rank: 1, freshness_tier: 'recent' },
  subject: { repository_id: 'here' },
  content: {
    summary_text: 'About Lists',
    facts: [{ id: 'fact-1', text: 'Lists nest', refs: ['RFC-9'] }],
    repo_paths: ['src/parser.ts'],
    structured_payload: { doi: '10.1/X' }
  },
  conflict_policy: { merge_strategy: 'append_only' },
  budget: { priority: 'normal', injection_mode: 'inline' }
}

function gates(
  root: string,
  over: Partial<GateSettings> = {},
  stored: ContextEnvelope | Error | null = envelope,
  scanner: StubScanner | undefined = fakeScanner
) {
  const warnings: string[] = []
  const current = () => ({ ...settings, ...over })
  const own = builtInGates({
    settings: current,
    root,
    envelope: async () => {
      if (stored instanceof Error) throw stored
      return stored
    },
    scanner: () => scanner,
    warn: message => warnings.push(message)
  })
  const completion = new CompletionGates({ settings: current, gates: () => own, rollup: () => null })
  const complete = async (subject: Partial<TaskView>, attestation: Attestation) => {
    const evidence = await completion.gather(task(subject), attestation)
    return completion.run({ task: task(subject), attestation, evidence, trust, now: 1 })
  }
  return { completion, complete, warnings }
}

function repository(t: Test): string {
  const root = t.testdir({
    repo: {
      src: { 'done.ts': 'export const a = 1\n', 'undone.ts': 'throw new Error("not implemented")\n' },
      docs: { 'a.md': '[here](b.md) [gone](c.md#x) [web](https://example.org) `[code](d.md)`\n', 'b.md': '' },
      'result.json': '{"a": 1}'
    },
    'secret.ts': 'todo'
  })
  return join(root, 'repo')
}

t.test('scans written files before a task is complete', async t => {
  const root = repository(t)
  const { complete } = gates(root)
  const writes = (path: string) => ({ files: [{ path, access: 'write' as const }] })
  t.match(await complete(writes('src/done.ts'), { ...honest, artifact_paths: ['./src/done.ts'] }), { kind: 'pass' })
  t.match(await complete(writes('src/undone.ts'), { ...honest, artifact_paths: ['src/undone.ts'] }), {
    kind: 'requeue',
    gate: 'stubcheck',
    reason: /src\/undone\.ts:1 .*not implemented \[stub\/throw-not-implemented\]/
  })
  t.match(await complete({}, { ...honest, artifact_paths: ['src/never.ts'] }), {
    kind: 'requeue',
    reason: /src\/never\.ts does not exist/
  })
})

t.test('says that files were not scanned while no plugin provides a scanner', async t => {
  const root = repository(t)
  const completion = new CompletionGates({
    settings: () => settings,
    gates: () =>
      builtInGates({
        settings: () => settings,
        root,
        envelope: async () => null,
        scanner: () => undefined,
        warn: () => {}
      }),
    rollup: () => null
  })
  const attestation = { ...honest, artifact_paths: ['src/undone.ts'] }
  const evidence = await completion.gather(task(), attestation)
  const outcome = completion.run({ task: task(), attestation, evidence, trust, now: 1 })
  t.match(outcome, { kind: 'pass' })
  const record = outcome.records.find(({ gate }) => gate === 'stubcheck')
  t.match(record?.detail, /1 files were not scanned, since the plugin stub-check is off/)
})

t.test('a scan that fails does not let a task pass', async t => {
  const failing: StubScanner = { scanTexts: () => Promise.reject(new Error('the thread ended')) }
  const { complete } = gates(repository(t), {}, null, failing)
  const outcome = await complete({}, { ...honest, artifact_paths: ['src/done.ts'] })
  t.match(outcome, { kind: 'requeue', gate: 'stubcheck', reason: /src\/done\.ts could not be read/ })
})

t.test('reads no file outside the repository, even through paths with .. or links', async t => {
  const root = repository(t)
  symlinkSync('../secret.ts', join(root, 'link.ts'))
  symlinkSync('..', join(root, 'up'))
  mkdirSync(join(root, 'folder.ts'))
  writeFileSync(join(root, 'large.ts'), 'x'.repeat(3 * 2 ** 20))
  const state = async (path: string) => (await inspectFiles(root, [path], { links: false })).files[0]?.state
  for (const path of [
    '../secret.ts',
    'src/../../secret.ts',
    '/etc/passwd',
    'link.ts',
    'up/secret.ts',
    '..\\secret.ts',
    'a\0b'
  ])
    t.equal(await state(path), 'outside', path)
  t.equal(await state('folder.ts'), 'not_a_file')
  t.equal(await state('large.ts'), 'unseen')
  t.equal(await state('src/none.ts'), 'missing')
  t.equal(await state('src/done.ts/x'), 'missing')
  t.equal(await state(join(root, 'src/done.ts')), 'read', 'an absolute path inside the repository is read')
  const many = await inspectFiles(root, Array(501).fill('src/none.ts'), { links: false })
  t.equal(many.files[500]?.state, 'unseen')
})

t.test('does not wait for a pipe among the artifacts', { skip: process.platform === 'win32' }, async t => {
  const root = repository(t)
  execFileSync('mkfifo', [join(root, 'pipe.ts')])
  t.match(await inspectFiles(root, ['pipe.ts'], { links: false }), { files: [{ state: 'not_a_file' }] })
})

t.test('gathers no evidence that no gate needs', async t => {
  const { completion } = gates('/nowhere')
  t.equal(completion.gather(task(), honest), null)
  const off = gates('/nowhere', { stubcheck_gate: false })
  t.equal(off.completion.gather(task(), { ...honest, artifact_paths: ['a.ts'] }), null)
})

t.test('checks file links of documents within the repository', async t => {
  const { complete } = gates(repository(t), { completion_markdown_link_audit_enabled: true })
  const outcome = await complete({}, { ...honest, artifact_paths: ['docs/a.md'] })
  t.match(outcome, { kind: 'requeue', gate: 'doc_links', reason: '1 links have no target: docs/a.md:1 to c.md#x' })
  t.strictSame(fileLinks('a\n[x](y.md "title")\n```\n[no](no.md)\n```\n[z](<q.md>) [p](#here)'), [
    { line: 2, target: 'y.md' },
    { line: 6, target: 'q.md' }
  ])
})

t.test('the result of a researcher must be JSON', async t => {
  const { complete } = gates(repository(t))
  const verdict = async (attestation: Attestation) =>
    (await complete({ role: 'researcher' }, attestation)).records.find(record => record.gate === 'research')?.verdict
  t.equal(await verdict(honest), 'requeue')
  t.equal(await verdict({ ...honest, completion_summary: '```json\n{"found": [1, 2]}\n```' }), 'pass')
  t.equal(await verdict({ ...honest, observation_summary: '[1]' }), 'pass')
  t.equal(await verdict({ ...honest, artifact_paths: ['result.json'] }), 'pass')
  for (const text of ['{', '1', '"text"', 'null', '']) t.notOk(isJson(text), text)
})

t.test('compares citations with the session’s envelope', async t => {
  const { complete } = gates(repository(t), { completion_grounding_enforce: true })
  const subject = { qgate: {}, session_id: 's' }
  for (const ref of ['rfc-9', 'FACT-1', 'lists nest', 'src/parser.ts', '10.1/x', 'ENV-7', 'retrieval_evidence'])
    t.match(await complete(subject, { ...honest, evidence_citations: [ref] }), { kind: 'pass' }, ref)
  t.match(await complete(subject, { ...honest, evidence_citations: ['rfc-10'] }), {
    kind: 'requeue',
    gate: 'grounding'
  })
  t.match(
    await complete({ qgate: {} }, { ...honest, evidence_citations: ['rfc-9'] }),
    { gate: 'grounding' },
    'without a session, no citation matches'
  )
  const broken = gates('/nowhere', { completion_grounding_enforce: true }, new Error('gone'))
  t.match(await broken.complete(subject, { ...honest, evidence_citations: ['rfc-9'] }), { gate: 'grounding' })
  t.match(broken.warnings, [/session s: its envelope could not be read: gone/])
})

t.test('facts need citations if they are required', async t => {
  const violations = (completion_summary: string) =>
    groundingOf({ factual_mode: true, required_citations: 1 }, { completion_summary }, null).violations.map(
      each => each.code
    )
  t.strictSame(violations('The population of Oslo is 700,000.'), ['factual_without_declarations'])
  t.strictSame(
    violations('Added a test. We fixed the parser and updated the docs.'),
    [],
    'reports of actions are not facts'
  )
  t.strictSame(violations('It might be that lists nest deeper there.'), [], 'speculation is not a fact')
  t.strictSame(violations('Short one.'), [])
  t.strictSame(
    declaredRefs({ evidence_citations: [' a ', 'a', ''], completion_summary: 'x [[voxcite: b]] [[voxcite:a]]' }),
    ['a', 'b']
  )
  t.match(envelopeText(envelope), /about lists/)
})

t.test('the project’s tests decide, if enabled', async t => {
  const node = JSON.stringify(process.execPath)
  const ok = `${node} -e "process.exit(0)"`
  const root = repository(t)
  const outcome = await gates(root, { behavioral_gate_on_complete: true, behavioral_gate_command: ok }).complete(
    {},
    honest
  )
  t.equal(outcome.kind, 'pass')
  const failing = `${node} -e "console.error('two are broken'); process.exit(3)"`
  const failed = await gates(root, { behavioral_gate_on_complete: true, behavioral_gate_command: failing }).complete(
    {},
    honest
  )
  t.match(failed, { kind: 'requeue', gate: 'behavioral', reason: /it exited with code 3/ })
  t.match(failed.records[0]?.data, { output: /two are broken/ })
  const none = await gates(root, { behavioral_gate_on_complete: true }).complete({}, honest)
  t.match(none.records[0], { verdict: 'skipped' }, 'the project has no test command')
})

t.test('kills tests at the time limit, with their child processes', async t => {
  const root = t.testdir({})
  const run = await runTests(root, 'sleep 600 & sleep 600', 100)
  t.match(run, { ok: false, reason: 'it took longer than 100 ms' })
  t.match(await runTests(root, 'exec svc-no-such-command-here'), { ok: false, reason: /exited with code 127/ })
})

t.test('detects the test command from the files of a project', async t => {
  t.equal(await detectTestCommand(t.testdir({})), null)
  t.equal(await detectTestCommand(t.testdir({ 'package.json': '{"scripts":{"test":"tap"}}' })), 'npm test --silent')
  t.equal(await detectTestCommand(t.testdir({ 'package.json': '{}', 'Cargo.toml': '' })), 'cargo test --quiet')
  t.equal(await detectTestCommand(t.testdir({ 'package.json': '{', 'go.mod': '' })), 'go test ./...')
})
