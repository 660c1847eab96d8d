import { mkdirSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { DAEMON_PROTOCOL, daemonPeer } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { freePort } from '../../../test/free-port.ts'
import { openWorld, until, type World } from './open-world.ts'
import { scriptedPeer, secondDaemon } from './second-daemon.ts'

const OURS = { ok: true, repository_id: 'test', protocol: DAEMON_PROTOCOL }
const DONE = { checks_passed: ['tests'] }
const task = { description: 'Do it', files: [] }

const piloted = (t: Test, socket: string, pilots: object, more: object = {}): Promise<World> =>
  openWorld(t, { socket, without: ['a2a'], settings: { daemon_pilots: pilots, ...more } })

t.test('every allowed call goes to the daemon if both general switches are on', async t => {
  const daemon = await secondDaemon(t)
  const { tool, orchestrator } = await piloted(t, `tcp://${daemon.state.socket}`, { reads: true, writes: true })
  const submitted = await tool('submit_task', { ...task, agent_name: 'far', capabilities: { min_vram_mb: 1 } })
  t.match(submitted, { success: true, data: { task_id: 1, agent_id: 1, original_prompt_hash: String } })
  t.same(orchestrator.tasks(), [], 'the local orchestrator has no task')
  t.same(await tool('task_status', { task_id: 1 }), { success: true, data: 'Queued' })
  t.match(await tool('reorder_task', { task_id: 1, priority: 'urgent' }), { success: true })
  t.match(await tool('pause_agent', { agent_id: 1 }), { success: true })
  t.match(await tool('orchestrator_status'), {
    data: { agent_count: 0, daemon_orch_status: { agent_count: 1, agents: [{ name: 'far', paused: true }] } }
  })
  t.match(await tool('resume_agent', { agent_id: 1 }), { success: true })
  t.same(await tool('complete_task', { task_id: 1, ...DONE }), { success: true, data: 'task completed' })
  t.same(await tool('task_status', { task_id: 1 }), { success: true, data: 'Completed' })
  t.match(await tool('complete_task', { task_id: 1, ...DONE }), { success: false, error: /^Task T-0001 is Completed/ })
  for (const [name, args] of [
    ['fail_task', { reason: 'x' }],
    ['cancel_task', {}]
  ] as const) {
    const { task_id } = (await tool('submit_task', task)).data as { task_id: number }
    t.match(await tool(name, { task_id, ...args }), { success: true })
  }
  t.match(await tool('spawn_agent', { name: 'more', dynamic: true, parent_agent_id: 1 }), {
    data: { agent_id: 2, parent_agent_id: 1 }
  })
  t.match(await tool('drain_agent', { agent_id: 2 }), { data: { drained_count: 0 } })
  t.match(await tool('rebalance'), { data: { rebalanced: 0 } })
  t.match(await tool('retire_agent', { agent_id: 2 }), { data: { remaining_tasks: 0 } })
  t.match(await tool('orchestrator_start'), {
    data: { agent_count: 0, daemon_reported_agent_count: 1, daemon_reported_agent_ids: [1] }
  })
  t.match(orchestrator.status(), { agent_count: 0, total_cancelled: 0 }, 'the local orchestrator did nothing')

  await daemon.kill()
  t.match(await tool('orchestrator_status'), { data: { daemon_orch_status_rpc_error: /no daemon responds|closed/ } })
  t.match(await tool('orchestrator_start'), {
    data: { daemon_status_rpc_error: String, daemon_agent_ids_rpc_error: String }
  })
  t.match(await tool('task_status', { task_id: 1 }), { success: false, error: 'task 1 not found' })
  t.match(
    await tool('submit_task', task),
    { success: true, data: { status: 'Queued' } },
    'a submit runs locally after the daemon has ended'
  )
  t.equal(orchestrator.tasks().length, 1)
})

/** Methods that each switch sends to the daemon. */
const SWITCHES: Readonly<Record<string, readonly string[]>> = {
  task_status: ['orch.task_status'],
  start: ['orch.agent_ids', 'orch.status'],
  status_tool: ['orch.status'],
  reads: ['orch.agent_ids', 'orch.status', 'orch.task_status'],
  task_writes: ['orch.cancel_task', 'orch.submit_task'],
  agent_writes: ['orch.pause_agent', 'orch.spawn_agent_ext'],
  writes: ['orch.cancel_task', 'orch.pause_agent', 'orch.spawn_agent_ext', 'orch.submit_task']
}

for (const [name, methods] of Object.entries(SWITCHES)) {
  t.test(`the switch ${name} forwards only its own calls`, async t => {
    const peer = await scriptedPeer(t, {
      'orch.ping': OURS,
      'orch.submit_task': { task_id: 7 },
      'orch.task_status': { status: 'Doubted' },
      'orch.status': { agent_count: 3 },
      'orch.agent_ids': { agent_ids: [1, 2, 3] },
      'orch.cancel_task': { ok: true },
      'orch.pause_agent': { ok: true },
      'orch.spawn_agent_ext': { agent_id: 9 }
    })
    const { tool, orchestrator } = await piloted(t, peer.address, { [name]: true })
    await orchestrator.submit(task)
    await tool('submit_task', task)
    t.same(await tool('task_status', { task_id: 1 }), {
      success: true,
      data: methods.includes('orch.task_status') ? 'Doubted' : 'Queued'
    })
    await tool('cancel_task', { task_id: 1 })
    await tool('spawn_agent', { name: 'x' })
    await tool('pause_agent', { agent_id: 1 })
    await tool('orchestrator_status')
    await tool('orchestrator_start')
    t.equal(
      peer.methods.filter(method => method === 'orch.ping').length,
      1,
      'the daemon’s repository is requested once'
    )
    t.same([...new Set(peer.methods)].filter(method => method !== 'orch.ping').sort(), methods)
  })
}

t.test('calls no daemon if all switches are off', async t => {
  const peer = await scriptedPeer(t, { 'orch.ping': OURS })
  const { tool } = await piloted(t, peer.address, {})
  t.match(await tool('submit_task', task), { success: true })
  t.match(await tool('task_status', { task_id: 1 }), { data: 'Queued' })
  t.same(peer.methods, [])
})

t.test('checks the daemon at the start of an MCP server, also if all switches are off', async t => {
  const peer = await scriptedPeer(t, { 'orch.ping': { ...OURS, repository_id: 'theirs' } })
  let daemon: { readonly current: { start(): void } } | undefined
  const server = definePlugin({
    name: 'server',
    requires: { daemon: ref(daemonPeer) },
    activate(_ctx, deps) {
      daemon = deps.daemon
    }
  })
  const { kernel } = await openWorld(t, { socket: peer.address, without: ['a2a'], more: [server as Plugin] })
  t.same(peer.methods, [])
  daemon?.current.start()
  daemon?.current.start()
  t.match(await until(() => kernel.log.find(line => /serves the repository theirs/.test(line.message))), {
    level: 'warn'
  })
  t.same(peer.methods, ['orch.ping'])
})

t.test('logs and ignores a daemon of another repository or protocol', async t => {
  for (const [pong, repository_id_strict, level, message] of [
    [{ ...OURS, repository_id: 'theirs' }, false, 'warn', /serves the repository theirs, not test/],
    [{ ...OURS, repository_id: 'theirs' }, true, 'error', /serves the repository theirs, not test/],
    [{ ...OURS, protocol: 'other/v9' }, false, 'warn', /speaks other\/v9/],
    [null, false, 'warn', /serves the repository undefined/]
  ] as const) {
    const peer = await scriptedPeer(t, { 'orch.ping': pong })
    const { tool, kernel, orchestrator } = await piloted(t, peer.address, { writes: true, repository_id_strict })
    const warned = () => kernel.log.find(line => message.test(line.message))
    t.match(await until(warned), { level }, 'the daemon is checked at the start')
    t.match(await tool('submit_task', task), { success: true, data: { task_id: 1 } })
    t.equal(orchestrator.tasks().length, 1)
    t.same(peer.methods, ['orch.ping'])
  }
})

t.test('tools run locally if there is no address or nothing listens', async t => {
  const port = await freePort()
  for (const socket of ['', '0', 'off', 'stdio', '-', 'stdin', `127.0.0.1:${port}`, '127.0.0.1:0']) {
    const { tool, orchestrator } = await piloted(t, socket, { writes: true, reads: true })
    t.match(await tool('submit_task', task), { success: true }, socket)
    t.match(await tool('task_status', { task_id: 1 }), { data: 'Queued' }, socket)
    t.equal(orchestrator.tasks().length, 1, socket)
  }
})

t.test('a change lost in transit is reported, and not repeated locally', async t => {
  const answers = {
    'orch.ping': OURS,
    'orch.submit_task': 'lost',
    'orch.complete_task': 'lost',
    'orch.pause_agent': 'junk'
  }
  const peer = await scriptedPeer(t, answers)
  const { tool, orchestrator } = await piloted(t, peer.address, { writes: true })
  await orchestrator.submit(task)
  t.match(await tool('submit_task', task), { success: false, error: /closed the connection during orch.submit_task/ })
  t.match(await tool('complete_task', { task_id: 1, ...DONE }), { success: false, error: /closed the connection/ })
  t.match(await tool('pause_agent', { agent_id: 1 }), { success: false, error: /not JSON/ })
  t.match(orchestrator.status(), { total_queued: 1, total_completed: 0, agents: [{ paused: false }] })
  t.equal(orchestrator.tasks().length, 1)
})

t.test('a task that a gate of the daemon sends back is not reported as completed', async t => {
  const requeued = { gate: 'approval', reason: 'no reviewer', iteration: 1 }
  const peer = await scriptedPeer(t, {
    'orch.ping': OURS,
    'orch.complete_task': { ok: true, completed: false, requeued }
  })
  const { tool } = await piloted(t, peer.address, { writes: true })
  t.same(await tool('complete_task', { task_id: 1, ...DONE }), {
    success: true,
    data: 'task queued again by the approval gate (attempt 1): no reviewer'
  })
})

t.test('reads the status locally if the daemon’s is lost or invalid', async t => {
  for (const answer of ['lost', 'junk', {}, { status: 'Strange' }]) {
    const peer = await scriptedPeer(t, { 'orch.ping': OURS, 'orch.task_status': answer })
    const { tool, orchestrator } = await piloted(t, peer.address, { reads: true })
    await orchestrator.submit(task)
    t.same(await tool('task_status', { task_id: 1 }), { success: true, data: 'Queued' })
    t.ok(peer.methods.includes('orch.task_status'))
  }
})

t.test('reads the address for port 0 from the project’s state file; the daemon itself calls no daemon', async t => {
  for (const pid of [process.pid, process.ppid]) {
    const peer = await scriptedPeer(t, { 'orch.ping': OURS, 'orch.task_status': { status: 'Doubted' } })
    const { tool, orchestrator, kernel } = await openWorld(t, { socket: '127.0.0.1:0' })
    const state = {
      pid,
      host: hostname(),
      socket: peer.address,
      version: '1',
      repository_id: 'test',
      started_at: 'now'
    }
    mkdirSync(join(kernel.root, '.vox'), { recursive: true })
    writeFileSync(join(kernel.root, '.vox', 'daemon.json'), JSON.stringify(state))
    ;(orchestrator.policy.daemon_pilots as { reads: boolean }).reads = true
    await orchestrator.submit(task)
    const itself = pid === process.pid
    t.match(await tool('task_status', { task_id: 1 }), { data: itself ? 'Queued' : 'Doubted' })
    t.equal(peer.methods.length, itself ? 0 : 2)
  }
})
