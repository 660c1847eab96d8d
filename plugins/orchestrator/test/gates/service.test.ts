import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openTestOrchestrator } from '../service/test-orchestrator.ts'

const DONE = {
  completion_summary: 'The parser reads nested lists now, and says where it stops.',
  checks_passed: ['peer_review_approved'],
  artifact_paths: ['src/a.ts']
}

t.test('requeues a task until its files have no placeholders, and explains why', async t => {
  const root = mkdtempSync(join(tmpdir(), 'svc-gates-'))
  t.teardown(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, 'src'))
  const { service } = await openTestOrchestrator(t, { root, settings: { stubcheck_gate: true } })
  const files = [{ path: 'src/a.ts', access: 'write' }] as const
  const { task_id } = await service.submit({ description: 'Read nested lists', files })
  t.match(service.task(task_id), { approval_tier: 'Review', test_decision: 'Required' })

  t.match(await service.complete(task_id, { ...DONE, checks_passed: [] }), {
    requeued: { gate: 'approval', iteration: 1 }
  })
  t.match(await service.complete(task_id, DONE), { requeued: { gate: 'stubcheck', reason: /does not exist/ } })
  writeFileSync(join(root, 'src/a.ts'), 'export function read() {\n  throw new Error("not implemented")\n}\n')
  t.match(await service.complete(task_id, DONE), { requeued: { gate: 'stubcheck', reason: /src\/a\.ts:2/ } })
  t.match(service.task(task_id), { debug_iterations: 1, stubcheck_iterations: 2 })
  t.match(
    service.task(task_id)?.description,
    /\[APPROVAL GATE\][\s\S]*\[AUTO-DEBUG ITERATION 1\][\s\S]*\[AUTO-DEBUG ITERATION 2\]/
  )
  writeFileSync(join(root, 'src/a.ts'), 'export const read = () => []\n')
  t.same(await service.complete(task_id, DONE), { completed: true })
  const gates = service.explain(task_id)?.gates ?? []
  t.strictSame(
    gates.filter(record => record.verdict === 'pass').map(record => record.gate),
    ['approval', 'stubcheck']
  )
})

t.test('an attestation may name a file through a link in the repository', async t => {
  const root = t.testdir({ src: { 'a.ts': 'export const read = 1\n', 'alias.ts': t.fixture('symlink', 'a.ts') } })
  const { service } = await openTestOrchestrator(t, { root, settings: { stubcheck_gate: true } })
  const files = [{ path: 'src/alias.ts', access: 'write' }] as const
  const { task_id } = await service.submit({ description: 'Read nested lists', files })
  t.same(await service.complete(task_id, { ...DONE, artifact_paths: ['src/alias.ts'] }), { completed: true })
})

t.test('a rejected attestation does not change the task', async t => {
  const { service } = await openTestOrchestrator(t, {
    settings: { stubcheck_gate: true, max_stubcheck_debug_iterations: 0 }
  })
  const { task_id } = await service.submit({ description: 'Look around', files: [] })
  await t.rejects(service.complete(task_id), { code: 'ORC_SCOPE_DENIED', message: /^Scope denied: T-0001/ })
  t.match(service.task(task_id), { status: { kind: 'Queued' } })
})

t.test('approving a task is charged to the attention budget', async t => {
  const { service, events } = await openTestOrchestrator(t, {
    settings: { attention_enabled: true, attention_budget_ms: 1_000_000 }
  })
  const { task_id, status } = await service.submit({
    description: 'Look',
    files: [],
    hints: { requires_approval: true }
  })
  t.equal(status, 'BlockedOnApproval')
  await service.approve(task_id, 'someone')
  t.ok(service.attention.state().spent_ms > 0)
  t.match(service.attention.events(), [{ kind: 'Interrupted' }])
  await service.attention.reset(1, 'to see the alert')
  const other = await service.submit({ description: 'Look', files: [], hints: { requires_approval: true } })
  await service.approve(other.task_id, 'someone')
  t.match(
    events.filter(({ kind }) => kind.type.startsWith('attention_')).map(({ kind }) => kind.type),
    ['attention_budget_reset', 'attention_budget_alert', 'attention_budget_alert']
  )
  const origin = { surface: 'test', principal: { id: 'test', role: 'admin', scopes: [] } }
  await t.rejects(service.submit({ description: 'Look', files: [] }, origin), { code: 'ORC_ATTENTION_EXHAUSTED' })
})

t.test('reports an agent that repeats its output', async t => {
  const { service, events } = await openTestOrchestrator(t)
  await service.submit({ description: 'Look', files: [] })
  for (let i = 0; i < 26; i++) service.budgets.toolCalled(1, 'the same')
  const alerts = events.flatMap(({ kind }) => (kind.type === 'budget_alert' ? [kind.signal] : []))
  t.strictSame(alerts, ['OutputRepeated', 'DoomLoopSuspect'], 'each alert is sent once')
})
