import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SignJWT } from 'jose'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { MESH_TOKEN, message, nodeReport } from './world.ts'

const SECRET = 'jwt-secret-0123456789abcdefghijklmnop'
const PLANES = 2
const KILLS = 4
const MESSAGES = 120

/** A control plane in a separate process. */
interface Plane {
  readonly child: ChildProcess
  readonly port: number
}

async function startPlane(file: string): Promise<Plane> {
  const child = fork(join(import.meta.dirname, 'plane-child.ts'), [], { execArgv: [...CHILD_ARGUMENTS] })
  child.send({
    coordination: { file },
    control: { jwt_hmac_secret: SECRET, bootstrap_token: 'boot', a2a_lease_ms: 1_000 }
  })
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  return { child, port }
}

async function kill({ child }: Plane): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

interface Reply {
  readonly status: number
  readonly json: any
}

/** Calls a plane. Null if it did not respond, so that the outcome is unknown. */
async function call(port: number, path: string, body?: object, token = MESH_TOKEN): Promise<Reply | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/v1/mesh${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body)
    })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    return { status: response.status, json: isJson && text !== '' ? JSON.parse(text) : undefined }
  } catch {
    return null
  }
}

t.test('planes that are killed lose nothing that they acknowledged, and nothing happens twice', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mesh-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'shared.db')
  const planes: Plane[] = []
  t.teardown(() => Promise.all(planes.map(kill)))
  for (let index = 0; index < PLANES; index += 1) planes.push(await startPlane(file))
  const port = (turn: number): number => (planes[turn % planes.length] as Plane).port

  for (const id of ['n1', 'n2', 'n3']) t.equal((await call(port(0), '/join', nodeReport(id)))?.status, 200)
  const jwt = await new SignJWT({ role: 'mesh' })
    .setProtectedHeader({ alg: 'HS256' })
    .setJti('once')
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))
  t.equal((await call(port(0), '/nodes', undefined, jwt))?.status, 200)
  t.equal((await call(port(1), '/bootstrap/exchange', { bootstrap_token: 'boot' }))?.status, 200)
  const lease = await call(port(0), '/exec/lease/grant', { claimer_node_id: 'n1', scope_key: 'k' })
  t.equal(lease?.status, 200)

  const state = { isOver: false }
  /** Id of each delivered message, by its key. */
  const delivered = new Map<string, number>()
  /** Number of acknowledgements of each message. */
  const acked = new Map<number, number>()
  const unknownAcks = new Set<number>()
  const sender = async (): Promise<void> => {
    for (let index = 0; index < MESSAGES; index += 1) {
      const body = message('7', { idempotency_key: `k${index}` })
      for (let turn = index; !delivered.has(`k${index}`); turn += 1) {
        const reply = await call(port(turn), '/a2a/deliver', body)
        if (reply?.status === 200) delivered.set(`k${index}`, reply.json.message_id)
        else await delay(20)
      }
    }
  }
  const worker = async (node: string, first: number): Promise<void> => {
    for (let turn = first; !state.isOver; turn += 1) {
      const claim = { receiver_agent_id: '7', claimer_node_id: node }
      const found = (await call(port(turn), '/a2a/inbox', claim))?.json?.messages?.[0]
      if (found === undefined) {
        await delay(20)
        continue
      }
      const token = { receiver_agent_id: '7', message_id: found.id, fence: found.fence }
      const reply = await call(port(turn + 1), '/a2a/ack', token)
      if (reply === null) unknownAcks.add(found.id)
      if (reply?.status === 204) acked.set(found.id, (acked.get(found.id) ?? 0) + 1)
    }
  }
  const killer = async (): Promise<void> => {
    for (let index = 0; index < KILLS; index += 1) {
      await delay(150)
      const at = index % PLANES
      await kill(planes[at] as Plane)
      planes[at] = await startPlane(file)
    }
  }
  const workers = ['n1', 'n2', 'n3'].map(worker)
  await Promise.all([sender(), killer()])
  const isDone = (): boolean => [...delivered.values()].every(id => acked.has(id) || unknownAcks.has(id))
  while (!isDone()) await delay(50)
  state.isOver = true
  await Promise.all(workers)

  t.equal(new Set(delivered.values()).size, MESSAGES, 'each key has one message')
  t.ok(
    [...acked.values()].every(count => count === 1),
    'no message was acknowledged twice'
  )
  t.ok(
    [...acked.keys()].every(id => [...delivered.values()].includes(id)),
    'each acknowledged message was sent'
  )
  // A message with an unknown outcome is either gone, or comes again once its lease has ended.
  const rest = (await call(port(0), '/a2a/inbox', { receiver_agent_id: '7' }))?.json.messages as {
    readonly id: number
  }[]
  t.ok(
    rest.every(({ id }) => unknownAcks.has(id) && !acked.has(id)),
    `${rest.length} messages are left`
  )

  t.equal((await call(port(0), '/nodes', undefined, jwt))?.status, 401, 'the JWT stays used')
  t.equal((await call(port(1), '/bootstrap/exchange', { bootstrap_token: 'boot' }))?.status, 410)
  const grant = { claimer_node_id: 'n2', scope_key: 'k' }
  let again = await call(port(0), '/exec/lease/grant', grant)
  // The lease of n1 may not have ended yet.
  while (again?.status === 409) {
    await delay(50)
    again = await call(port(0), '/exec/lease/grant', grant)
  }
  t.ok(Number(again?.json.lease_id) > Number(lease?.json.lease_id), 'fences grow over kills')
  t.equal((await call(port(1), '/nodes'))?.json.nodes.length, 3)
})
