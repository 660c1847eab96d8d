import { type Task, TaskState } from '@a2a-js/sdk'
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import t from 'tap'
import { openWorld } from './open-world.ts'
import { CERTIFICATE, openReceiver } from './receiver.ts'
import { getRequest, messageOf, until } from './requests.ts'

const V03 = { 'a2a-version': '0.3' }
const message = (messageId: string, text: string, more: object = {}) => ({
  message: { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...more }
})

t.test('version 0.3 is served over JSON-RPC if it is switched on', async t => {
  const receiver = await openReceiver(t)
  const world = await openWorld(t, {
    settings: { v0_3: true, push_private_hosts: ['127.0.0.1'], push_ca_file: CERTIFICATE }
  })
  const sent = await world.rpc('message/send', message('m-1', 'say hello'), V03)
  t.match(sent.body.result, {
    kind: 'task',
    status: { state: 'completed' },
    artifacts: [{ parts: [{ kind: 'text', text: 'hello' }] }]
  })
  const got = await world.rpc('tasks/get', { id: sent.body.result.id }, V03)
  t.match(got.body.result, { id: sent.body.result.id, status: { state: 'completed' } })
  const patched = await world.rpc('tasks/get', { id: sent.body.result.id }, { 'a2a-version': '0.3.1' })
  t.strictSame(patched.body, got.body, 'VER-CLIENT-002: patch numbers do not count')
  t.match((await world.rpc('tasks/cancel', { id: sent.body.result.id }, V03)).body, { error: { code: -32002 } })
  t.match((await world.rpc('tasks/get', { id: 'unknown' }, V03)).body, { error: { code: -32001 } })
  t.match((await world.rpc('tasks/get', { id: 7, historyLength: -1 }, V03)).body, { error: { code: Number } })

  const wrong = { message: { kind: 'message', messageId: 'm', role: 'user', parts: [null] } }
  t.match((await world.rpc('message/send', wrong, V03)).body, { error: { code: -32602 } })

  const streamed = await world.rpc('message/stream', message('m-2', 'say more'), V03)
  const events = [...String(streamed.body).matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data).result)
  t.match(events[0], { kind: 'task', status: { state: 'submitted' } })
  t.match(events.at(-1), { kind: 'status-update', final: true, status: { state: 'completed' } })

  const hook = { configuration: { pushNotificationConfig: { url: receiver.url } } }
  await world.rpc('message/send', { ...message('m-3', 'fail now'), ...hook }, V03)
  t.ok(await until(() => receiver.received.some(({ body }) => body.kind === 'task' && body.status.state === 'failed')))

  t.comment('the card has the form of the version of its client')
  const card = await fetch(`${world.url}/.well-known/agent-card.json`, { headers: V03 })
  t.match(await card.json(), { protocolVersion: '0.3', url: `${world.url}/a2a/v1`, preferredTransport: 'JSONRPC' })
  t.equal((await world.rpc('ListTasks', {})).status, 200)
  t.equal((await world.rest('GET', '/tasks', undefined, V03)).status, 400, 'REST has version 1.0 only')
})

t.test('a client of the SDK for 0.3 works with the server', async t => {
  const world = await openWorld(t, { settings: { v0_3: true } })
  const legacyCompat = { enabled: true }
  const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ legacyCompat })] })
  const card = (await (
    await fetch(`${world.url}/.well-known/agent-card.json`, { headers: { 'a2a-version': '1.0' } })
  ).json()) as any
  const only = card.supportedInterfaces.filter((each: any) => each.protocolVersion === '0.3')
  const client = await factory.createFromAgentCard({ ...card, supportedInterfaces: only })
  const task = (await client.sendMessage(messageOf('say hello'))) as Task
  t.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED)
  t.equal((await client.getTask(getRequest(task.id))).status?.state, TaskState.TASK_STATE_COMPLETED)
})
