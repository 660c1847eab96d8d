import t from 'tap'
import { restoreTask, serialiseTask, taskView } from '#state'

const shared = { status: <A>(status: A): A => status }

/** Record written by an earlier build. */
const FULL =
  '{"id":7,"d":"Fix the lexer","s":{"kind":"Blocked","on":3},"a":2,"t":[1000,1500,2000],"trace":"t-1","p":"Urgent",' +
  '"f":[{"path":"src/lexer.ts","access":"write"}],"w":[3],"c":8,"k":"CodeGen","r":"builder",' +
  '"place":"mesh_remote_lease_hold","rule":"highest_score","tier":"Review","att":0.5,"test":"Required",' +
  '"x":{"tenant_id":"acme","session_id":"s-1","approvals":["human_review_approved"],"active_skill":"parse","retry_count":2}}'
const USUAL = '{"id":8,"d":"Look around","s":"Queued","a":1,"t":[1000,0,0],"trace":"t-2"}'

t.test('reads a record of an earlier build, and writes the same bytes', async t => {
  for (const record of [FULL, USUAL]) t.equal(serialiseTask(restoreTask(record, shared)), record)
})

t.test('a view contains the values of a record, except for hidden fields', async t => {
  t.strictSame(taskView(restoreTask(FULL, shared)), {
    id: 7,
    description: 'Fix the lexer',
    status: { kind: 'Blocked', on: 3 },
    priority: 'Urgent',
    agent_id: 2,
    files: [{ path: 'src/lexer.ts', access: 'write' }],
    depends_on: [3],
    complexity: 8,
    category: 'CodeGen',
    role: 'builder',
    created_at_ms: 1_000,
    started_at_ms: 1_500,
    ended_at_ms: 2_000,
    trace_id: 't-1',
    approval_tier: 'Review',
    attention_weight: 0.5,
    test_decision: 'Required',
    placement_reason: 'mesh_remote_lease_hold',
    debug_iterations: 0,
    stubcheck_iterations: 0,
    qgate_iterations: 0,
    retry_count: 2,
    handoff_count: 0,
    recoveries: 0,
    tenant_id: 'acme',
    session_id: 's-1',
    active_skill: 'parse'
  })
  const view = taskView(restoreTask(USUAL, shared))
  t.match(view, { priority: 'Normal', complexity: 5, role: 'planner', test_decision: 'Unknown', attention_weight: 0 })
  t.notOk('started_at_ms' in view || 'ended_at_ms' in view, 'unset times are left out')
})

t.test('throws for JSON that is not a task record', async t => {
  for (const record of [
    '{}',
    '{"id":1,"d":"x","s":"Gone","a":1,"t":[1,0,0]}',
    '{"id":"1","d":"x","s":"Queued","t":[1,0,0]}'
  ])
    t.throws(() => restoreTask(record, shared), TypeError)
})
