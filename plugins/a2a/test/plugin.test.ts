import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type A2aMessage, type A2aPlane, a2aPlanes, type PlaneMessage } from '@svc/contracts'
import { type CallerInputOf, definePlugin, type OutputOf, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import plugin from '#plugin'
import {
  a2aAck,
  a2aBroadcast,
  a2aDead,
  a2aExtend,
  a2aHistory,
  a2aInbox,
  a2aMessages,
  a2aNack,
  a2aRevive,
  a2aSend,
  a2aTasks,
  a2aWatch
} from '#root'
import { openWorld } from './open-world.ts'

type World = Awaited<ReturnType<typeof openWorld>>

const send = ({ kernel }: World, change: Partial<CallerInputOf<typeof a2aSend>> = {}) =>
  kernel.call(a2aSend, { sender_id: 1, receiver_id: 2, msg_type: 'free_form', payload: 'hello', ...change })
const inbox = ({ kernel }: World, change: Partial<CallerInputOf<typeof a2aInbox>> = {}) =>
  kernel.call(a2aInbox, { agent_id: 2, ...change })

t.test('a local message is returned with its plane and route until it is acknowledged', async t => {
  const world = await openWorld(t)
  const sent = await send(world, { correlation_id: 'c', thread_id: 'th' })
  t.match(sent, {
    message_id: 1,
    sender: 1,
    receiver: 2,
    route: 'local',
    delivery_plane: 'local_ephemeral',
    route_ok: true,
    idempotency_key: 'c',
    correlation_id: 'c',
    tenant_id: 'account',
    relay_attempted: false,
    relay_ok: false,
    dropped_messages: 0,
    sender_identity_binding: 'unbound',
    binding_advisory: /bind it to a session/
  })
  t.notOk('db_message_uuid' in sent)
  t.match((await send(world)).idempotency_key, /^mcp-a2a-1-2-[0-9a-f]{16}$/)
  const read = await inbox(world)
  t.match(read, {
    agent_id: 2,
    source: 'merged',
    delivery_planes: ['local_ephemeral', 'broadcast', 'local_durable'],
    routes: ['local', 'db'],
    unread_count: 2,
    remote_attempted: false,
    suppressed_count: 0,
    focus_depth_filter_active: false
  })
  t.match(read.messages[0], { id: 1, route: 'local', delivery_plane: 'local_ephemeral', correlation_id: 'c' })
  t.same(await world.kernel.call(a2aAck, { agent_id: 2, message_id: 1 }), {
    agent_id: 2,
    message_id: 1,
    acknowledged: true
  })
  t.equal((await world.kernel.call(a2aAck, { agent_id: 2, message_id: 1 })).acknowledged, false)
  t.same(
    (await inbox(world)).messages.map(({ id }) => id),
    [2]
  )
  t.match(world.fake.emitted[0], { type: 'message_sent', from: 1, to: 2, summary: /free_form over local_ephemeral/ })
  t.notMatch(JSON.stringify(world.fake.emitted), /hello/, 'events do not contain the payload')
})

t.test('a durable message survives the end of the process, and a local one does not', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'a2a-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const database = { path: join(folder, 'messages.db') }
  const first = await openWorld(t, { database })
  await send(first)
  const { db_message_uuid } = await send(first, { route: 'db', priority: 'high' })
  t.match(db_message_uuid, /^[0-9a-f-]{36}$/)
  await first.kernel.close()
  const second = await openWorld(t, { database })
  const { messages } = await inbox(second)
  t.match(messages, [{ uuid: db_message_uuid, priority: 'high', delivery_plane: 'local_durable' }])
  t.equal(messages.length, 1)
})

t.test('a reload of the plugin loses no local message', async t => {
  const world = await openWorld(t)
  await send(world)
  await world.kernel.replace({ ...(plugin as Plugin), summary: 'another' })
  t.match((await inbox(world)).messages, [{ payload: 'hello' }])
  await send(world)
  t.same(
    (await inbox(world)).messages.map(({ id }) => id),
    [1, 2]
  )
})

t.test(
  'messages of both planes are merged by priority, and messages that are not returned are not claimed',
  async t => {
    const world = await openWorld(t)
    await send(world, { payload: 'local low', priority: 'low' })
    await send(world, { payload: 'durable high', priority: 'high', route: 'db' })
    await send(world, { payload: 'local normal' })
    await send(world, { payload: 'durable low', priority: 'low', route: 'db' })
    const { messages, unread_count } = await inbox(world, { max_messages: 3 })
    t.same(
      messages.map(({ payload }) => payload),
      ['durable high', 'local normal', 'local low']
    )
    t.equal(unread_count, 4)
    const { rows } = await world.store.query('SELECT payload, claim_owner FROM a2a_messages ORDER BY id')
    t.same(rows, [
      ['durable high', `pid:${process.pid}`],
      ['durable low', null]
    ])
    t.same((await inbox(world, { source: 'local' })).messages.length, 2)
    t.same((await inbox(world, { source: 'db' })).routes, ['db'])
  }
)

t.test('ack requires the route if both planes have a message with the id', async t => {
  const world = await openWorld(t)
  await send(world)
  await send(world, { route: 'db' })
  await t.rejects(world.kernel.call(a2aAck, { agent_id: 2, message_id: 1 }), { code: 'MSG_MESSAGE_AMBIGUOUS' })
  t.ok((await world.kernel.call(a2aAck, { agent_id: 2, message_id: 1, route: 'db' })).acknowledged)
  t.match((await inbox(world)).messages, [{ id: 1, route: 'local' }])
  t.ok((await world.kernel.call(a2aAck, { agent_id: 2, message_id: 1 })).acknowledged)
  const { db_message_uuid = '' } = await send(world, { route: 'db' })
  t.ok((await world.kernel.call(a2aAck, { agent_id: 2, message_id: db_message_uuid })).acknowledged)
  t.equal((await inbox(world)).unread_count, 0)
})

t.test('unknown agents are rejected, but a durable message may be sent to an agent of another process', async t => {
  const world = await openWorld(t)
  await t.rejects(send(world, { sender_id: 9 }), { code: 'ORC_AGENT_NOT_FOUND', message: 'Agent A-09 not found' })
  await t.rejects(send(world, { receiver_id: 9 }), { code: 'ORC_AGENT_NOT_FOUND' })
  await t.rejects(inbox(world, { agent_id: 9 }), { code: 'ORC_AGENT_NOT_FOUND' })
  t.match(await send(world, { receiver_id: 9, route: 'db' }), { route_ok: true, receiver_advisory: /A-09/ })
})

t.test('only its own session may act for a bound agent', async t => {
  const world = await openWorld(t)
  world.fake.join(1, 'mine')
  await t.rejects(send(world), { code: 'ORC_SESSION_MISMATCH', message: /sender_session_id is missing/ })
  await t.rejects(send(world, { sender_session_id: 'other' }), { code: 'ORC_SESSION_MISMATCH', message: /another/ })
  const sent = await send(world, { sender_session_id: 'mine' })
  t.equal(sent.sender_identity_binding, 'verified')
  t.notOk('binding_advisory' in sent)
  world.fake.join(2, 'theirs')
  await t.rejects(inbox(world), { code: 'ORC_SESSION_MISMATCH' })
  t.equal((await inbox(world, { agent_session_id: 'theirs' })).sender_identity_binding, 'verified')
  await t.rejects(world.kernel.call(a2aAck, { agent_id: 2, message_id: 1, agent_session_id: 'mine' }), {
    code: 'ORC_SESSION_MISMATCH'
  })
})

t.test('route mesh throws MSG_MESH_OFF with a hint, and an unknown route throws MSG_PLANE_UNKNOWN', async t => {
  const world = await openWorld(t)
  const calls: (() => Promise<unknown>)[] = [
    () => send(world, { route: 'mesh' }),
    () => inbox(world, { source: 'mesh' })
  ]
  for (const call of calls)
    await t.rejects(call, { code: 'MSG_MESH_OFF', message: /mesh plugin is off/, hint: /enable the mesh plugin/ })
  await t.rejects(send(world, { route: 'pigeon' as never }), { code: 'MSG_PLANE_UNKNOWN' })
})

t.test('route mesh is carried by a contributed plane, and a plane that fails is reported', async t => {
  const world = await openWorld(t)
  const sent: PlaneMessage[] = []
  const acked: unknown[] = []
  let broken = false
  const message = (id: number): A2aMessage => ({
    id,
    sender: 9,
    receiver: 2,
    msg_type: 'free_form',
    payload: 'from afar',
    plane: 'remote_mesh',
    priority: 'normal',
    timestamp_ms: 1,
    acknowledged: false
  })
  const mesh: A2aPlane = {
    route: 'mesh',
    plane: 'remote_mesh',
    async send(message) {
      sent.push(message)
      return { id: 77, uuid: null, dropped: 0, repeated: false, timestamp_ms: 1 }
    },
    async inbox() {
      if (broken) throw new Error('the control plane does not respond')
      return [message(5)]
    },
    ack: async (agent, id, fence) => acked.push([agent, id, fence]) > 0,
    health: () => ({ ok: true })
  }
  const carrier = definePlugin({ name: 'carrier', activate: ctx => ctx.contribute(a2aPlanes, mesh, 'plane mesh') })
  await world.kernel.replace(carrier as Plugin)
  t.match(await send(world, { route: 'mesh', receiver_id: 9 }), {
    message_id: 77,
    delivery_plane: 'remote_mesh',
    route_ok: true,
    relay_attempted: true,
    relay_ok: true
  })
  t.match(sent, [{ sender: 1, receiver: 9, payload: 'hello' }])
  t.match(await inbox(world, { source: 'mesh' }), { remote_attempted: true, remote_ok: true, unread_count: 1 })
  await send(world)
  t.match(await inbox(world), {
    remote_attempted: true,
    remote_ok: true,
    delivery_planes: ['local_ephemeral', 'broadcast', 'local_durable', 'remote_mesh'],
    messages: [{ route: 'local' }, { id: 5, route: 'mesh', payload: 'from afar' }]
  })
  t.match(await world.kernel.call(a2aAck, { agent_id: 2, message_id: 5, route: 'mesh', fence: 3 }), {
    acknowledged: true
  })
  t.same(acked, [[2, 5, 3]])
  broken = true
  t.match(await inbox(world), { remote_attempted: true, remote_ok: false, messages: [{ route: 'local' }] })
  for (const change of [{ delay_ms: 5 }, { max_attempts: 2 }])
    await t.rejects(send(world, { route: 'mesh', ...change }), { code: 'MSG_PLANE_UNSUITED', message: /no leases/ })
  await t.rejects(world.kernel.call(a2aNack, { agent_id: 2, message_id: 5, fence: 1, route: 'mesh' }), {
    code: 'MSG_PLANE_UNSUITED'
  })
  t.equal(sent.length, 1, 'nothing was sent without its delay')
})

t.test('the tools extend, return, bury, list and revive durable messages', async t => {
  const world = await openWorld(t, { settings: { max_attempts: 5 } })
  const { kernel } = world
  const { message_id: id = 0 } = await send(world, { route: 'db', delay_ms: 0 })
  const token = async () => ({
    agent_id: 2,
    message_id: id,
    fence: (await inbox(world)).messages[0]?.fence ?? 0
  })
  const first = await token()
  t.equal(first.fence, 1)
  t.same(await kernel.call(a2aExtend, { ...first, lease_ms: 60_000 }), { extended: true })
  t.same(await kernel.call(a2aExtend, { ...first, fence: 2 }), { extended: false })
  t.same(await kernel.call(a2aNack, { ...first, error: 'busy' }), { returned: true })
  t.match(await kernel.call(a2aAck, first), { acknowledged: false }, 'the claim has ended')
  const second = await token()
  t.equal(second.fence, 2)
  t.same(await kernel.call(a2aNack, { ...second, reject: true, error: 'not for me' }), { returned: true })
  t.match(await inbox(world), { unread_count: 0, messages: [] })
  t.match(await kernel.call(a2aDead, {}), {
    messages: [{ id, receiver: 2, attempts: 2, error: 'not for me', route: 'db' }]
  })
  t.same(await kernel.call(a2aDead, { agent_id: 3 }), { messages: [] })
  t.same(await kernel.call(a2aRevive, { agent_id: 2, message_id: id }), { revived: true })
  t.same(await kernel.call(a2aRevive, { agent_id: 2, message_id: id }), { revived: false })
  t.match(await kernel.call(a2aAck, await token()), { acknowledged: true })
  for (const route of ['local', 'mesh', 'pigeon'])
    await t.rejects(kernel.call(a2aExtend, { ...second, route }), {
      code: { local: 'MSG_PLANE_UNSUITED', mesh: 'MSG_MESH_OFF', pigeon: 'MSG_PLANE_UNKNOWN' }[route]
    })
  await t.rejects(send(world, { route: 'local', delay_ms: 5 }), { code: 'MSG_PLANE_UNSUITED' })
  for (const wrong of [{ fence: 0 }, { fence: '1' }, { lease_ms: 10 }, { lease_ms: 10_000_000 }])
    await t.rejects(kernel.callById('a2a.extend', { ...second, ...wrong }), { code: 'OPR_INPUT_INVALID' })
})

t.test('without a database only local messages and broadcasts work', async t => {
  const world = await openWorld(t, { database: false })
  await t.rejects(send(world, { route: 'db' }), { code: 'ORC_NO_DATABASE', message: 'Database not attached.' })
  await t.rejects(inbox(world, { source: 'db' }), { code: 'ORC_NO_DATABASE' })
  await send(world)
  t.match(await inbox(world), { delivery_planes: ['local_ephemeral', 'broadcast'], messages: [{ payload: 'hello' }] })
})

t.test(
  'a message that interrupts the user is sent, deferred, not sent or rejected by the interruption policy',
  async t => {
    const world = await openWorld(t)
    const { fake } = world
    const gains: Record<string, number> = { error_report: 0.24, conflict_detected: 0.22, help_request: 0.14 }
    for (const [msg_type, gain_bits] of Object.entries(gains)) {
      t.ok((await send(world, { msg_type })).route_ok)
      t.match(fake.decisions.at(-1), { channel: 'a2a', surface: 'svc_a2a_send', gain_bits, trust: 0.5 })
    }
    const paid = { milliseconds: 10, kind: 'Interrupted', frequency: true }
    t.same(fake.debits, [paid, paid, paid], 'each interruption is charged')
    fake.outcome = 'BatchWithExisting'
    t.ok((await send(world, { msg_type: 'error_report' })).route_ok)
    fake.outcome = 'DeferUntilCheckpoint'
    const deferred = await send(world, { msg_type: 'help_request' })
    t.match(deferred, { decision: 'DeferUntilCheckpoint', deferred: true, route_ok: false, reason: 'as the test says' })
    t.notOk('message_id' in deferred)
    fake.outcome = 'ProceedAutonomously'
    t.match(await send(world, { msg_type: 'error_report' }), { decision: 'ProceedAutonomously', deferred: false })
    fake.outcome = 'RequireHuman'
    await t.rejects(send(world, { msg_type: 'conflict_detected' }), {
      code: 'ORC_HUMAN_REQUIRED',
      message: 'Human approval required: as the test says'
    })
    t.equal((await inbox(world)).unread_count, 4)
    t.equal(fake.debits.length, 3)
    const decisionCount = fake.decisions.length
    t.ok((await send(world, { msg_type: 'progress_update' })).route_ok)
    t.equal(fake.decisions.length, decisionCount, 'the policy is not asked about other types')
  }
)

t.test('in deep focus only errors and conflicts are returned; other messages are counted but not claimed', async t => {
  const world = await openWorld(t)
  const types = ['progress_update', 'error_report', 'conflict_detected', 'free_form']
  for (const msg_type of types) for (const route of ['local', 'db'] as const) await send(world, { msg_type, route })
  world.fake.focus = 'Deep'
  const deep = await inbox(world)
  t.match(deep, { focus_depth_filter_active: true, suppressed_count: 4, unread_count: 8 })
  t.same([...new Set(deep.messages.map(({ msg_type }) => msg_type))].sort(), ['conflict_detected', 'error_report'])
  t.equal(deep.messages.length, 4)
  const { rows } = await world.store.query('SELECT count(*) FROM a2a_messages WHERE claim_owner IS NOT NULL')
  t.equal(rows[0]?.[0], 2)
  t.same(world.fake.debits.at(-1), { milliseconds: 0, kind: 'InboxSuppressed', frequency: false })
  world.fake.focus = 'Focused'
  t.equal((await inbox(world)).messages.length, 8)
})

t.test('the list of messages names the agents', async t => {
  const world = await openWorld(t)
  await send(world)
  await send(world, { route: 'db', receiver_id: 77 })
  await world.kernel.call(a2aBroadcast, { sender_id: 1, msg_type: 'broadcast_news', payload: 'news' })
  const { messages } = await world.kernel.call(a2aMessages, {})
  t.same(messages.map(({ sender_name, receiver_name }) => [sender_name, receiver_name]).sort(), [
    ['agent-1', 'A-77'],
    ['agent-1', 'agent-2'],
    ['agent-1', 'all']
  ])
})

t.test('a broadcast reaches every other agent, and retiring an agent deletes its inbox', async t => {
  const world = await openWorld(t)
  const sent = await world.kernel.call(a2aBroadcast, { sender_id: 1, msg_type: 'broadcast_news', payload: 'news' })
  t.match(sent, { sender: 1, delivery_plane: 'broadcast', route: null, receivers: 2, dropped_messages: 0 })
  for (const agent_id of [2, 3])
    t.match((await inbox(world, { agent_id })).messages, [{ receiver: null, delivery_plane: 'broadcast', route: null }])
  t.same((await inbox(world, { agent_id: 1 })).messages, [])
  t.equal(await world.bus.broadcast({ sender: 2, msg_type: 'free_form', payload: 'x' }), 2)
  world.fake.retire(3)
  world.fake.join(3)
  t.same((await inbox(world, { agent_id: 3 })).messages, [])
})

t.test('clarifications require route db, are read first, and are validated', async t => {
  const world = await openWorld(t)
  const payload = JSON.stringify({ clarification_intent: 'which port', question_kind: 'entry', urgency: null })
  const clarify = (change: object = {}) =>
    send(world, { msg_type: 'clarification_request', payload, route: 'db', ...change })
  await send(world, { route: 'db', priority: 'critical' })
  await clarify()
  t.match((await inbox(world)).messages, [{ msg_type: 'clarification_request', payload }, { priority: 'critical' }])
  const { rows } = await world.store.query('SELECT priority FROM a2a_messages ORDER BY id')
  t.same(rows, [[3], [5]])
  await t.rejects(clarify({ route: 'local' }), { code: 'MSG_PLANE_UNSUITED' })
  const broken: [string, RegExp][] = [
    ['x', /not valid JSON/],
    ['[]', /not an object/],
    ['{}', /clarification_intent/],
    ['{"clarification_intent":"x","question_kind":"guess"}', /question_kind/],
    ['{"clarification_intent":"x","expected_user_cost":2}', /expected_user_cost/],
    ['{"clarification_intent":"x","requested_evidence_dimensions":{}}', /an array/],
    ['{"clarification_intent":"x","stop_policy":[]}', /an object/]
  ]
  for (const [payload, message] of broken)
    await t.rejects(clarify({ payload }), { code: 'MSG_CLARIFICATION_INVALID', message })
})

t.test('history lists messages of both planes by time, and a2a.tasks uses the states of the A2A protocol', async t => {
  const world = await openWorld(t)
  await send(world, { payload: '1' })
  await send(world, { payload: '2', route: 'db' })
  await world.kernel.call(a2aAck, { agent_id: 2, message_id: 1, route: 'local' })
  const { messages } = await world.kernel.call(a2aHistory, {})
  t.same(
    messages.map(({ payload, route, acknowledged }) => [payload, route, acknowledged]),
    [
      ['1', 'local', true],
      ['2', 'db', false]
    ]
  )
  t.same((await world.kernel.call(a2aHistory, { limit: 1 })).messages.length, 1)
  t.same((await world.kernel.call(a2aHistory, { since_ms: Date.now() + 60_000 })).messages, [])
  const task = { description: 'x'.repeat(300), agent_id: 1, created_at_ms: 5 }
  const kinds = ['Queued', 'InProgress', 'Doubted', 'Failed'] as const
  for (const [at, kind] of kinds.entries()) world.fake.tasksNow.push({ ...task, id: at + 1, status: { kind } } as never)
  const { tasks } = await world.kernel.call(a2aTasks, {})
  t.same(
    tasks.map(({ task_id, state, status }) => [task_id, state, status]),
    [
      [4, 'failed', 'Failed'],
      [3, 'input_required', 'Doubted'],
      [2, 'working', 'InProgress'],
      [1, 'submitted', 'Queued']
    ]
  )
  t.equal(tasks[0]?.description.length, 200)
  t.match(await world.kernel.call(a2aTasks, { state: 'working' }), { tasks: [{ task_id: 2 }] })
})

t.test('watch emits each message once and in order, including those of other processes, and claims none', async t => {
  const world = await openWorld(t)
  const seen: OutputOf<typeof a2aInbox>['messages'][number][] = []
  const only: typeof seen = []
  const stop = new AbortController()
  const watching = [
    world.kernel.call(a2aWatch, {}, { signal: stop.signal, onEvent: event => seen.push(event as never) }),
    world.kernel.call(a2aWatch, { agent_id: 3 }, { signal: stop.signal, onEvent: event => only.push(event as never) })
  ]
  const until = async (condition: () => boolean): Promise<void> => {
    const end = Date.now() + 120_000
    while (!condition() && Date.now() < end) await new Promise(resolve => setTimeout(resolve, 10))
  }
  // Sends messages until both watchers have received one, because they start asynchronously.
  await until(() => {
    world.bus
      .send({ sender: 3, receiver: 3, msg_type: 'free_form', payload: 'begin', route: 'db' })
      .catch(() => undefined)
    return seen.length > 0 && only.length > 0
  })
  for (let at = 0; at < 20; at += 1) await send(world, { payload: `${at}`, route: at % 2 === 0 ? 'local' : 'db' })
  await world.store.execute(
    `INSERT INTO a2a_messages (message_uuid, sender_agent, receiver_agent, msg_type, payload, repository_id)
     VALUES ('elsewhere', '7', '3', 'free_form', 'from elsewhere', ?)`,
    ['default']
  )
  await until(() => [seen, only].every(list => list.some(({ uuid }) => uuid === 'elsewhere')))
  const received = seen.filter(({ payload }) => payload !== 'begin')
  const of = (route: string) => received.filter(message => message.route === route).map(({ payload }) => payload)
  t.same(of('local'), ['0', '2', '4', '6', '8', '10', '12', '14', '16', '18'])
  t.same(of('db'), ['1', '3', '5', '7', '9', '11', '13', '15', '17', '19', 'from elsewhere'])
  t.same(
    only.filter(({ payload }) => payload !== 'begin').map(({ payload }) => payload),
    ['from elsewhere']
  )
  stop.abort()
  await Promise.allSettled(watching)
  t.equal((await inbox(world)).unread_count, 20)
})

t.test('a reload ends running watch calls', async t => {
  const world = await openWorld(t, { database: false })
  const seen: unknown[] = []
  const watching = world.kernel.call(a2aWatch, {}, { onEvent: event => seen.push(event) })
  const end = Date.now() + 120_000
  while (seen.length === 0 && Date.now() < end) {
    await send(world)
    await new Promise(resolve => setImmediate(resolve))
  }
  await world.kernel.replace({ ...(plugin as Plugin), summary: 'another' })
  t.match(await watching, { messages: seen.length })
})

t.test('a listener that throws does not affect other listeners', async t => {
  const world = await openWorld(t, { database: false })
  const seen: string[] = []
  world.bus.subscribe(() => {
    throw new Error('no')
  })
  const stop = world.bus.subscribe(({ payload }) => seen.push(payload))
  await send(world)
  stop()
  await send(world)
  t.same(seen, ['hello'])
  t.ok(world.kernel.log.some(({ level, message }) => level === 'warn' && message.includes('listener')))
})
