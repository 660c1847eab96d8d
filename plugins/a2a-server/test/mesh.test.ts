import { randomUUID } from 'node:crypto'
import { type Task, TaskState } from '@a2a-js/sdk'
import { TaskNotFoundError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import mesh from '@svc/plugin-mesh'
import meshControl from '@svc/plugin-mesh-control'
import type { Plugin } from '@svc/plugin-sdk'
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import { openWorld, type World } from './open-world.ts'
import { getRequest, listRequest, messageOf, until } from './requests.ts'

const TOKENS = {
  mesh: 'mesh-token-0123456789abcdef',
  worker: 'worker-token-0123456789abcdef',
  submitter: 'submitter-token-0123456789abcdef'
}
const SECRET = 'a-secret-for-tokens-0123456789abcdef'
const NOW = { configuration: { returnImmediately: true } }
const RECEIVER = '7'

interface Mesh extends World {
  /** Calls the control plane as a worker. */
  plane(path: string, body: object): Promise<{ status: number; json: any }>
  as(role: keyof typeof TOKENS): ReturnType<World['client']>
}

/** Opens a control plane whose mailbox 7 receives the tasks. */
async function openMesh(t: Test, scope?: string): Promise<Mesh> {
  const world = await openWorld(t, {
    orchestrator: false,
    more: [mesh as Plugin, meshControl as Plugin],
    settings: { listener: 'mesh', target: 'mesh', receiver_agent: RECEIVER, sender_agent: '901' },
    others: {
      mesh: {
        node_id: 'self',
        ...(scope === undefined ? null : { scope_id: scope }),
        token: TOKENS.mesh,
        worker_token: TOKENS.worker,
        submitter_token: TOKENS.submitter
      },
      'mesh-control': {
        port: 0,
        drain_ms: 0,
        registry_path: '/nonexistent/registry.json',
        jwt_hmac_secret: SECRET
      }
    }
  })
  const withToken =
    (token: string): typeof fetch =>
    (input, init) => {
      const headers = new Headers(init?.headers)
      headers.set('authorization', `Bearer ${token}`)
      return fetch(input, { ...init, headers })
    }
  return {
    ...world,
    async plane(path, body) {
      const response = await fetch(`${world.url}/v1/mesh${path}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${path === '/a2a/deliver' ? TOKENS.mesh : TOKENS.worker}`
        },
        body: JSON.stringify(body)
      })
      const text = await response.text()
      return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : text }
    },
    as: role => world.client('JSONRPC', withToken(TOKENS[role]))
  }
}

const join = (world: Mesh, more: object = {}) =>
  world.plane('/join', { id: 'worker-1', capabilities: {}, version: '1', ...more })

/** Claims the next message of the mailbox as a worker. */
const claim = (world: Mesh, node = 'worker-1') =>
  until(async () => {
    const { json } = await world.plane('/a2a/inbox', { receiver_agent_id: RECEIVER, claimer_node_id: node })
    return json.messages?.[0] ?? null
  })

/** Delivers the result of a claimed envelope, and acknowledges it. */
async function finish(world: Mesh, message: any, result: object): Promise<void> {
  const envelope = JSON.parse(message.payload)
  const { idempotency_key, task_id } = envelope
  await world.plane('/a2a/deliver', {
    sender_agent_id: RECEIVER,
    receiver_agent_id: message.sender_agent_id,
    message_type: 'remote_task_result',
    payload: JSON.stringify({ idempotency_key, task_id, ...result }),
    idempotency_key: `remote-result-${task_id}-${idempotency_key}`
  })
  await world.plane('/a2a/ack', { receiver_agent_id: RECEIVER, message_id: message.id })
}

t.test('a worker of the mesh claims a task over the lease routes, and its result completes it', async t => {
  const world = await openMesh(t)
  await join(world)
  const client = await world.as('submitter')
  const state = async (id: string) => (await client.getTask(getRequest(id))).status?.state
  const sent = (await client.sendMessage(
    messageOf('build it', { ...NOW, metadata: { 'urn:svc:mesh:v1': { campaign_id: 'spring' } } })
  )) as Task
  t.equal(sent.status?.state, TaskState.TASK_STATE_SUBMITTED)

  const message = await claim(world)
  const envelope = JSON.parse(message.payload)
  t.match(message, { message_type: 'remote_task_envelope', sender_agent_id: '901', receiver_agent_id: RECEIVER })
  t.match(envelope, { idempotency_key: `a2a-${sent.id}`, campaign_id: 'spring', repository_id: 'orchestrator-local' })
  t.match(JSON.parse(envelope.payload), { task_description: 'build it', thread_id: `a2a:${sent.id}` })
  await until(async () => (await state(sent.id)) === TaskState.TASK_STATE_WORKING)

  await finish(world, message, { success: true, result: 'built' })
  await until(async () => (await state(sent.id)) === TaskState.TASK_STATE_COMPLETED)
  const done = await client.getTask(getRequest(sent.id))
  t.match(done.artifacts, [{ parts: [{ content: { value: 'built' } }] }])
  t.match(done.metadata, { 'urn:svc:mesh:v1': { claimer_node_id: 'worker-1', lease_id: /^\d+$/ } })
})

t.test('tasks go to the mailboxes of the scope of the mesh', async t => {
  const scope_id = 'team:a%b'
  const world = await openMesh(t, scope_id)
  await join(world, { scope_id })
  const client = await world.as('mesh')
  const sending = client.sendMessage(messageOf('do it')) as Promise<Task>
  const message = await claim(world)
  t.match(JSON.parse(message.payload), { scope_id, repository_id: scope_id })
  await finish(world, message, { success: true, result: 'done' })
  t.equal((await sending).status?.state, TaskState.TASK_STATE_COMPLETED)
})

t.test('a failed result fails the task, also if the claim was never seen', async t => {
  const world = await openMesh(t)
  await join(world)
  const client = await world.as('mesh')
  const sending = client.sendMessage(messageOf('break it')) as Promise<Task>
  await finish(world, await claim(world), { success: false, error: 'it broke' })
  const task = await sending
  t.equal(task.status?.state, TaskState.TASK_STATE_FAILED)
  t.match(task.status?.message?.parts, [{ content: { value: 'it broke' } }])
})

t.test('without an available node a task is rejected', async t => {
  const world = await openMesh(t)
  const client = await world.as('mesh')
  const rejected = (await client.sendMessage(messageOf('do it'))) as Task
  t.equal(rejected.status?.state, TaskState.TASK_STATE_REJECTED)
  t.match(rejected.status?.message?.parts, [{ content: { value: /No machine/ } }])
  await t.rejects(client.sendMessage(messageOf('more', { taskId: rejected.id })), UnsupportedOperationError)
})

t.test('a cancelled task is withdrawn: a worker that holds it is refused, and its late result is dropped', async t => {
  const world = await openMesh(t)
  await join(world)
  const client = await world.as('mesh')
  const cancel = (id: string) => client.cancelTask({ tenant: '', id, metadata: undefined })
  const queued = (await client.sendMessage(messageOf('never', NOW))) as Task
  t.equal((await cancel(queued.id)).status?.state, TaskState.TASK_STATE_CANCELED)

  const held = (await client.sendMessage(messageOf('too late', NOW))) as Task
  const message = await claim(world)
  t.match(JSON.parse(message.payload).idempotency_key, `a2a-${held.id}`, 'the withdrawn task was not claimed')
  await cancel(held.id)
  const renewal = { receiver_agent_id: RECEIVER, message_id: message.id, claimer_node_id: 'worker-1' }
  t.equal((await world.plane('/a2a/lease-renew', renewal)).status, 404)
  const notice = await claim(world)
  t.match(notice, { message_type: 'remote_task_cancel' })
  t.match(JSON.parse(notice.payload), { idempotency_key: `a2a-${held.id}` })
  await finish(world, message, { success: true, result: 'done anyway' })
  const another = (await client.sendMessage(messageOf('next', NOW))) as Task
  await world.plane('/a2a/ack', { receiver_agent_id: RECEIVER, message_id: notice.id })
  await finish(world, await claim(world), { success: true, result: 'next' })
  await until(
    async () => (await client.getTask(getRequest(another.id))).status?.state === TaskState.TASK_STATE_COMPLETED
  )
  t.equal((await client.getTask(getRequest(held.id))).status?.state, TaskState.TASK_STATE_CANCELED)
})

t.test('a malformed or foreign message in the mailbox of results is dropped', async t => {
  const world = await openMesh(t)
  await join(world)
  const client = await world.as('mesh')
  const sent = (await client.sendMessage(messageOf('do it', NOW))) as Task
  const payloads = ['{', '7', 'null', '{"success":true}', '{"idempotency_key":"a2a-unknown","success":true}']
  for (const payload of payloads)
    await world.plane('/a2a/deliver', {
      sender_agent_id: RECEIVER,
      receiver_agent_id: '901',
      message_type: 'remote_task_result',
      payload
    })
  await finish(world, await claim(world), { success: true })
  await until(async () => (await client.getTask(getRequest(sent.id))).status?.state === TaskState.TASK_STATE_COMPLETED)
  await until(async () => (await world.store.look('a2a:default:901', { limit: 10 })).length === 0)
})

t.test('CORE-LIST-001, AUTH-SCOPE-002, -003: callers have roles, and see only their own tasks', async t => {
  const world = await openMesh(t)
  await join(world)
  const [owner, submitter, worker] = [await world.as('mesh'), await world.as('submitter'), await world.as('worker')]
  const task = (await owner.sendMessage(messageOf('mine', NOW))) as Task
  await t.rejects(submitter.getTask(getRequest(task.id)), TaskNotFoundError)
  t.equal((await submitter.listTasks(listRequest({}))).totalSize, 0)
  t.equal((await worker.listTasks(listRequest({}))).totalSize, 0)
  await t.rejects(worker.sendMessage(messageOf('forbidden', NOW)), { message: /scope a2a.send/ })
  const call = (headers: Record<string, string>) => world.rpc('ListTasks', {}, headers)
  t.equal((await call({})).status, 401)
  t.equal((await call({ authorization: 'Bearer wrong' })).status, 401)
  t.equal((await call({ authorization: 'Basic eDp5' })).status, 401)
  t.match((await call({ authorization: `Bearer ${TOKENS.worker}` })).body, { result: { totalSize: 0 } })
  t.equal((await world.rest('POST', '/message:send', {}, { authorization: `Bearer ${TOKENS.worker}` })).status, 403)
  const forbidden = await world.rpc('SendMessage', {}, { authorization: `Bearer ${TOKENS.worker}` })
  t.match(forbidden, { status: 403, body: { error: { data: [{ metadata: { code: 'A2S_FORBIDDEN' } }] } } })
  const page = { authorization: `Bearer ${TOKENS.mesh}`, origin: world.url }
  t.equal((await call(page)).status, 403, 'a page of a browser')
  t.equal((await fetch(`${world.url}/.well-known/agent-card.json`)).status, 200, 'the card is public')
  const jwt = (role: string) =>
    new SignJWT({ role })
      .setProtectedHeader({ alg: 'HS256' })
      .setJti(randomUUID())
      .setExpirationTime('1m')
      .sign(new TextEncoder().encode(SECRET))
  const once = await jwt('submitter')
  t.equal((await call({ authorization: `Bearer ${once}` })).status, 200)
  t.equal((await call({ authorization: `Bearer ${once}` })).status, 401, 'a JWT is used once')
  const sent = await world.rpc('SendMessage', {}, { authorization: `Bearer ${await jwt('worker')}` })
  t.equal(sent.status, 403)
  const guesses = await Promise.all(Array.from({ length: 70 }, (_, at) => call({ authorization: `Bearer guess${at}` })))
  t.ok(guesses.some(({ status, headers }) => status === 429 && Number(headers.get('retry-after')) > 0))
})
