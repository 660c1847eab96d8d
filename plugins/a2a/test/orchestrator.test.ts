import { type Orchestrator, orchestrator as token } from '@svc/contracts'
import database from '@svc/plugin-database'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import '../../database/test/built-worker.ts'
import orchestrator from '@svc/plugin-orchestrator'
import plugin from '#plugin'
import { a2aBroadcast, a2aInbox, a2aSend, a2aTasks } from '#root'
import { defaultSettings } from '../../orchestrator/test/default-settings.ts'

t.test('agents of the real orchestrator send and read messages, and only their session may act for them', async t => {
  let service: { readonly current: Orchestrator } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { service: ref(token) },
    activate: (_ctx, deps) => {
      service = deps.service
    }
  })
  const settings = { orchestrator: defaultSettings() }
  const kernel = await testKernel([database, orchestrator, plugin, probe] as Plugin[], { settings })
  t.teardown(() => kernel.close())
  const agents = service!.current
  const names = ['a', 'b', 'c']
  const [a, b, c] = await Promise.all(names.map(name => agents.spawnAgent({ name, dynamic: true })))
  const [from, to, third] = [a?.id ?? -1, b?.id ?? -1, c?.id ?? -1]
  const message = { sender_id: from, receiver_id: to, msg_type: 'error_report', payload: 'broken' }
  t.match(await kernel.call(a2aSend, message), { route_ok: true, sender_identity_binding: 'unbound' })
  t.match(await kernel.call(a2aSend, { ...message, route: 'db' }), { route_ok: true, db_message_uuid: String })
  await agents.bindSession(from, 'mine')
  await t.rejects(kernel.call(a2aSend, message), { code: 'ORC_SESSION_MISMATCH' })
  t.match(await kernel.call(a2aSend, { ...message, sender_session_id: 'mine' }), {
    sender_identity_binding: 'verified'
  })
  t.match(await kernel.call(a2aInbox, { agent_id: to }), { unread_count: 3, focus_depth_filter_active: false })
  t.ok(agents.recentEvents().some(({ kind }) => kind.type === 'message_sent' && kind.from === from && kind.to === to))
  t.match(await kernel.call(a2aBroadcast, { sender_id: to, msg_type: 'free_form', payload: 'all' }), { receivers: 2 })
  await agents.retireAgent(third)
  await t.rejects(kernel.call(a2aSend, { ...message, receiver_id: third, sender_session_id: 'mine' }), {
    code: 'ORC_AGENT_NOT_FOUND'
  })
  const { task_id } = await agents.submit({ description: 'work on it', files: [], session_id: 'mine' })
  t.match(await kernel.call(a2aTasks, {}), { tasks: [{ task_id, state: 'submitted', context_id: 'mine' }] })
})
