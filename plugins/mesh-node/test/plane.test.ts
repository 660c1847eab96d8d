import t from 'tap'
import { openControl, openHost, WORKS } from './bed.ts'

const QUIET = { ...WORKS, mesh_remote_worker_poll_interval_secs: 0 }

t.test('agents of two hosts exchange messages over the route mesh', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: QUIET })
  const two = await openHost(t, { name: 'two', url: control.url, orchestrator: QUIET })
  const sender = (await one.tasks.spawnAgent({ name: 'ada' })).id
  const reader = (await two.tasks.spawnAgent({ name: 'bob' })).id
  const message = {
    sender,
    receiver: reader,
    msg_type: 'help_request',
    payload: 'Which file?',
    route: 'mesh',
    correlation_id: 'c-1',
    thread_id: 'th-1',
    idempotency_key: 'once'
  } as const
  const sent = await one.bus.send({ ...message, priority: 'critical' })
  t.match(sent, { route: 'mesh', delivery_plane: 'remote_mesh', idempotency_key: 'once', dropped: 0 })
  t.equal((await one.bus.send({ ...message, payload: 'again' })).message_id, sent.message_id)
  await one.bus.send({ ...message, payload: 'Later', idempotency_key: 'twice', priority: 'low' })
  const { messages } = await two.bus.inbox(reader, { source: 'mesh' })
  t.match(messages, [
    {
      id: sent.message_id,
      sender,
      receiver: reader,
      msg_type: 'help_request',
      payload: 'Which file?',
      plane: 'remote_mesh',
      priority: 'critical',
      correlation_id: 'c-1',
      thread_id: 'th-1',
      acknowledged: false
    },
    { payload: 'Later', priority: 'low' }
  ])
  t.ok(await two.bus.ack(reader, sent.message_id, 'mesh'))
  t.notOk(await two.bus.ack(reader, sent.message_id, 'mesh'))
  t.notOk(await two.bus.ack(reader, 'no number', 'mesh'))
  const left = await two.bus.inbox(reader, { source: 'merged' })
  t.match(left.messages, [{ payload: 'Later' }])
})

t.test('messages of remote execution are not shown to agents', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: QUIET })
  const agent = (await one.tasks.spawnAgent({ name: 'ada' })).id
  const send = (msg_type: string) =>
    one.bus.send({ sender: agent, receiver: agent, msg_type, payload: '{}', route: 'mesh' })
  for (let at = 0; at < 3; at += 1) await send('remote_task_result')
  await send('free_form')
  const { messages } = await one.bus.inbox(agent, { source: 'mesh', limit: 1 })
  t.match(messages, [{ msg_type: 'free_form' }])
  t.equal(messages.length, 1)
})

t.test('while the control plane is down, other planes are still read, and the node is degraded', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: QUIET })
  const agent = (await one.tasks.spawnAgent({ name: 'ada' })).id
  await one.bus.send({ sender: agent, receiver: agent, msg_type: 'free_form', payload: 'local' })
  await control.close()
  t.match((await one.bus.inbox(agent)).messages, [{ payload: 'local' }])
  await t.rejects(one.bus.inbox(agent, { source: 'mesh' }), { code: /MND_(UNREACHABLE|TIMEOUT)/ })
  await t.rejects(
    one.bus.send({ sender: agent, receiver: agent, msg_type: 'free_form', payload: 'x', route: 'mesh' }),
    { code: /MND_/ }
  )
})
