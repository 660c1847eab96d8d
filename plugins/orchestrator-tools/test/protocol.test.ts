import { callDaemon } from '@svc/contracts'
import daemon from '@svc/plugin-daemon'
import type { Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { daemonStateOf } from '../../../test/daemon-state.ts'
import { openWorld } from './open-world.ts'

const DONE = { completion_summary: 'The work is done, and a user has reviewed it.', checks_passed: ['tests'] }

/** Opens the orchestrator, with methods over a real socket. */
async function serve(t: Test) {
  const world = await openWorld(t, { more: [daemon as Plugin], daemon: '127.0.0.1:0' })
  const state = await daemonStateOf(world.kernel.root)
  return {
    ...world,
    orchestrator: world.orchestrator,
    call: (method: string, params = {}) => callDaemon(state, method, params)
  }
}

t.test('accepts submissions with the protocol’s field names, unknown fields and nulls', async t => {
  const { call, orchestrator } = await serve(t)
  const submitted = await call('orch.submit_task', {
    description: 'Greet every visitor',
    file_manifest: [{ path: './src/a.ts', access: 'Write', of_a_later_version: 1 }],
    priority: 'Urgent',
    target_agent: 'greeter',
    capability_requirements: { min_vram_mb: 1 },
    enqueue_hints: { task_category: 'code_gen', complexity: 3, execution_role: 'builder', of_a_later_version: 1 },
    session_id: null,
    tenant_id: 'a',
    of_a_later_version: 1
  })
  t.match(submitted, { task_id: 1, agent_id: 1, status: 'Queued' })
  t.match(orchestrator.task(1), {
    files: [{ path: 'src/a.ts', access: 'write' }],
    priority: 'Urgent',
    category: 'CodeGen',
    complexity: 3,
    tenant_id: 'a'
  })
  t.match(orchestrator.agents(), [{ name: 'greeter' }])
  const nothing = { target_agent: null, capability_requirements: null, enqueue_hints: null, tenant_id: null }
  t.match(await call('orch.submit_task', { description: 'Wait', ...nothing }), { task_id: 2 })
})

t.test('both forms of a submission create the same task', async t => {
  const { call, orchestrator } = await serve(t)
  const files = [{ path: 'src/a.ts', access: 'read' }]
  await call('orch.submit_task', {
    description: 'Do it',
    file_manifest: files,
    target_agent: 'one',
    enqueue_hints: { complexity: 2, tool_hints: ['grep'] }
  })
  await call('orchestrator.submitTask', {
    description: 'Do it',
    files,
    agent_name: 'one',
    complexity: 2,
    tool_hints: ['grep']
  })
  const [first, second] = [1, 2].map(id => {
    const {
      id: _id,
      created_at_ms,
      trace_id,
      correlation_id,
      ...task
    } = orchestrator.task(id) as unknown as Record<string, unknown>
    return task
  })
  t.same(first, second)
})

t.test('both names of a task method return the same result', async t => {
  const { call } = await serve(t)
  const submit = async (): Promise<number> =>
    ((await call('orch.submit_task', { description: 'Do it' })) as { task_id: number }).task_id
  for (const [names, params, message] of [
    [['orch.complete_task', 'orchestrator.completeTask'], { attestation: DONE }, 'task completed'],
    [['orch.complete_task', 'orchestrator.completeTask'], DONE, 'task completed'],
    [['orch.fail_task', 'orchestrator.failTask'], { reason: 'no luck' }, 'task failed'],
    [['orch.cancel_task', 'orchestrator.cancelTask'], {}, 'task cancelled'],
    [['orch.reorder_task', 'orchestrator.reorderTask'], { priority: 'Background' }, 'task reordered']
  ] as const)
    for (const name of names)
      t.same(await call(name, { task_id: await submit(), ...params }), { ok: true, message }, name)
  for (const name of ['orch.task_status', 'orchestrator.taskStatus'])
    for (const task_id of [1, 'T-0001'])
      t.same(await call(name, { task_id }), { status: 'Completed', detail: 'Completed' }, name)
})

t.test('both names of an agent method return the same result', async t => {
  const { call, orchestrator } = await serve(t)
  const nulls = { dynamic: null, parent_agent_id: null, source_task_id: null, delegation_reason: null }
  for (const [at, name] of ['orch.spawn_agent', 'orch.spawn_agent_ext', 'orchestrator.spawnAgent'].entries())
    t.same(await call(name, { name: `agent ${at}`, ...nulls }), {
      agent_id: at + 1,
      name: `agent ${at}`,
      dynamic: false
    })
  for (const act of ['pause', 'resume'])
    for (const name of [`orch.${act}_agent`, `orchestrator.${act}Agent`])
      t.same(await call(name, { agent_id: 1 }), { ok: true, message: `agent ${act}d` }, name)
  for (const name of ['orch.drain_agent', 'orchestrator.drainAgent'])
    t.same(await call(name, { agent_id: 'A-01' }), { drained_count: 0 })
  for (const name of ['orch.rebalance', 'orchestrator.rebalance']) t.same(await call(name), { rebalanced: 0 })
  for (const [at, name] of ['orch.retire_agent', 'orchestrator.retireAgent'].entries())
    t.match(await call(name, { agent_id: at + 1 }), { remaining_tasks: 0, tasks: [] })
  t.same(
    orchestrator.agents().map(({ id }) => id),
    [3]
  )
})

t.test('both names of the status method return the fields of the protocol and of the tool', async t => {
  const { call, orchestrator } = await serve(t)
  const { id } = await orchestrator.spawnAgent({ name: 'one' })
  await orchestrator.bindSession(id, 's1')
  for (const name of ['orch.status', 'orchestrator.status'])
    t.match(await call(name), {
      enabled: true,
      agent_count: 1,
      context_entries: 0,
      total_queued: 0,
      execution_mode: 'queue_only',
      text: String,
      agents: [{ name: 'one', in_progress: false, urgent_count: 0, agent_session_id: 's1', current_task: null }]
    })
})

t.test('tools return only the message or the status, and do not list the protocol’s field names', async t => {
  const { tool, toolset } = await serve(t)
  const { task_id } = (await tool('submit_task', { description: 'Do it', target_agent: 'one' })).data as {
    task_id: number
  }
  t.same(await tool('task_status', { task_id }), { success: true, data: 'Queued' })
  t.same(await tool('cancel_task', { task_id }), { success: true, data: 'task cancelled' })
  t.match(await tool('submit_task', { description: 'Do it', of_a_later_version: 1 }), {
    success: false,
    error: /later/
  })
  const listed = toolset.tools({ id: 'tester', role: 'owner', scopes: ['*'] })
  const submit = listed.find(({ name }) => name === 'svc_submit_task')
  const properties = Object.keys((submit?.inputSchema.properties ?? {}) as object)
  t.ok(properties.includes('agent_name'))
  for (const name of ['target_agent', 'enqueue_hints', 'file_manifest', 'capability_requirements'])
    t.notOk(properties.includes(name), name)
})
