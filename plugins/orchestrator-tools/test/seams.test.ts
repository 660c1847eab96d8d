import { type CompletionGate, completionGates, statusSections } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import houseRules from '../../../test/fixtures/plugins/house-rules/src/plugin.ts'
import { openWorld } from './open-world.ts'

const DONE = { checks_passed: ['tests', 'peer_review_approved'] }
const writes = [{ path: 'src/a.ts', access: 'write' as const }]

t.test('a contributed gate requeues a task, and appears in its explanation', async t => {
  const { orchestrator } = await openWorld(t, { more: [houseRules as Plugin] })
  const { task_id } = await orchestrator.submit({ description: 'Change it', files: writes })
  t.match(await orchestrator.complete(task_id, DONE), {
    completed: false,
    requeued: { gate: 'changes', reason: 'CHANGES.md was not changed', iteration: 1 }
  })
  t.match(orchestrator.task(task_id)?.description, /\[CHANGES GATE 1\] CHANGES\.md was not changed/)
  t.equal(orchestrator.explain(task_id)?.gates.length, 10)
  const artifact_paths = ['src/a.ts', 'CHANGES.md']
  t.match(await orchestrator.complete(task_id, { ...DONE, artifact_paths }), { completed: true })
  t.equal(orchestrator.explain(task_id)?.gates.at(-1)?.gate, 'changes')
})

t.test('a gate that throws rejects the completion', async t => {
  const { orchestrator } = await openWorld(t, { more: [houseRules as Plugin] })
  for (const [description, message] of [
    ['[broken gate] Do it', /gate changes: the gate threw an error: the rules are contradictory/],
    ['[broken gather] Do it', /gate changes: the gate threw an error: CHANGES\.md cannot be read/]
  ] as const) {
    const { task_id } = await orchestrator.submit({ description, files: [] })
    await t.rejects(orchestrator.complete(task_id, DONE), { code: 'ORC_VALIDATION_FAILED', message })
    t.not(orchestrator.task(task_id)?.status.kind, 'Completed')
    await orchestrator.cancel(task_id)
  }
})

t.test(
  'a contributed routing term affects routing, is clamped and explained, and counts as 0 if it throws',
  async t => {
    const { orchestrator } = await openWorld(t, { more: [houseRules as Plugin] })
    await orchestrator.spawnAgent({ name: 'lark' })
    const owl = await orchestrator.spawnAgent({ name: 'owl' })
    const night = { description: '[night] Look after it', files: [] }
    await orchestrator.submit({ ...night, agent_name: 'owl' })
    const { task_id, agent_id } = await orchestrator.submit(night)
    t.equal(agent_id, owl.id, 'the term outweighs the higher load')
    const [best] = orchestrator.explain(task_id)?.routing.candidates ?? []
    t.match(best, {
      agent_name: 'owl',
      terms: [{ term: 'load' }, { term: 'night_shift', because: 'it works at night' }]
    })
    t.ok((best?.score ?? Infinity) <= 1_000)
    t.not((await orchestrator.submit({ description: 'By day', files: [] })).agent_id, owl.id)
    t.not((await orchestrator.submit({ ...night, description: '[night] [broken term]' })).agent_id, owl.id)
  }
)

t.test('contributed sections are fields of the status; a broken one contains its error', async t => {
  const { tool } = await openWorld(t, { more: [houseRules as Plugin] })
  t.match(await tool('orchestrator_status'), {
    data: {
      house_rules: { gates: 1 },
      broken_section: { ok: false, error: 'nothing to report' },
      planning: { enabled: Boolean },
      persistence_outbox_lifecycle: { pending: 0 }
    }
  })
})

t.test('a contributed plane transports messages', async t => {
  const { orchestrator, tool } = await openWorld(t, { more: [houseRules as Plugin] })
  await orchestrator.spawnAgent({ name: 'one' })
  await orchestrator.spawnAgent({ name: 'two' })
  const message = { sender_id: 1, receiver_id: 2, msg_type: 'free_form', payload: 'Hello' }
  t.match(await tool('a2a_send', { ...message, route: 'board' }), {
    data: { route: 'board', delivery_plane: 'pin_board', route_ok: true, message_id: 1 }
  })
  const pinned = [{ id: 1, payload: 'Hello', delivery_plane: 'pin_board', route: 'board' }]
  for (const source of ['board', 'merged'])
    t.match(await tool('a2a_inbox', { agent_id: 2, source }), { data: { messages: pinned } }, source)
  t.match(await tool('a2a_ack', { agent_id: 2, message_id: 1, route: 'board' }), { data: { acknowledged: true } })
  t.match(await tool('a2a_inbox', { agent_id: 2, source: 'board' }), { data: { messages: [] } })
  t.match(await tool('a2a_send', { ...message, route: 'nowhere' }), {
    success: false,
    error: /no plane has this route/
  })
  t.match(await tool('a2a_send', { ...message, route: 'mesh' }), { success: false, error: /the mesh plugin is off/ })
})

t.test('a gate or section with a name that is in use is a conflict', async t => {
  const approval = { name: 'approval', order: 1, counter: 'debug_iterations' } as CompletionGate
  for (const [point, item] of [
    [completionGates, approval],
    [statusSections, { key: 'planning', read: () => null }]
  ] as const) {
    const rival = definePlugin({
      name: 'rival',
      activate: ctx => ctx.contribute(point as typeof completionGates, item as CompletionGate)
    })
    await t.rejects(openWorld(t, { more: [rival as Plugin] }), { code: /KRN_CONFLICT|KRN_/, message: /rival/ })
  }
})
