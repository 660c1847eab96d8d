/**
 * Messages per second that are delivered, claimed and acknowledged over HTTP, with 1, 2 and 4 control planes on one
 * PostgreSQL server and 64 clients, each with one connection. Compared in rotation with plain statements of `pg` without
 * HTTP, on 8 connections and on one for each client. BullMQ, and JetStream with a sync after each write, are reported.
 *
 * Each control plane is a separate process. The load shares the cores with them and with the database.
 *
 *   node --import tsx --conditions=svc-source bench/mesh/http.ts [--json] [--rounds N] [--seconds N] [--clients N]
 *     [--planes N,N,…]
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { MIN_ROUNDS } from '../figures.ts'
import { isSmoke } from '../smoke-mode.ts'
import { openBullmq } from '../task-queues/bullmq.ts'
import { installPeers } from '../task-queues/peer-packages.ts'
import { type Server, startPostgres, startRedis } from '../task-queues/servers.ts'
import { openFolder, PEERS } from './bench-folder.ts'
import { type Child, compiledProgram } from './child.ts'
import { JETSTREAM_PACKAGES, openJetStream, startNats } from './jetstream.ts'
import { LeftOut } from './left-out.ts'
import { CONNECTIONS, startPlane } from './planes.ts'
import { BODY, bareQueue, taskQueue, urlOf } from './queues.ts'
import { type Contestant, cyclesPerSecond, inRotation, type Rates, ratesText } from './rotation.ts'
import { RECEIVER, WireClient } from './wire-client.ts'

export interface HttpResult {
  readonly clients: number
  readonly results: readonly Rates[]
  readonly left_out: readonly string[]
}

const LEASE_MS = 30_000

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : String(MIN_ROUNDS) },
    seconds: { type: 'string', default: isSmoke ? '0.3' : '3' },
    clients: { type: 'string', default: '64' },
    planes: { type: 'string', default: isSmoke ? '1,2' : '1,2,4' }
  }
})

let keys = 0

/** Delivers a message, claims one and acknowledges it. */
function wireCycle(client: WireClient, node: string): () => Promise<void> {
  return async () => {
    await client.call('/a2a/deliver', {
      sender_agent_id: '1',
      receiver_agent_id: RECEIVER,
      message_type: 'job_submit',
      payload: BODY,
      idempotency_key: `bench-${process.pid}-${keys++}`
    })
    for (;;) {
      const { messages } = await client.call('/a2a/inbox', {
        receiver_agent_id: RECEIVER,
        claimer_node_id: node,
        own: false
      })
      const [message] = messages as readonly { readonly id: number; readonly fence: number }[]
      // Another client may claim the message at this moment.
      if (message === undefined) continue
      await client.call('/a2a/ack', { receiver_agent_id: RECEIVER, message_id: message.id, fence: message.fence })
      return
    }
  }
}

/** Clients of the first `count` control planes, in turn. */
async function overHttp(
  planes: readonly Child[],
  count: number,
  clients: number,
  postgres: Server
): Promise<Contestant> {
  const opened = Array.from({ length: clients }, (_, index) => new WireClient((planes[index % count] as Child).url))
  const cycles = await Promise.all(
    opened.map(async (client, index) => {
      const node = `client-${index}`
      await client.join(node)
      return wireCycle(client, node)
    })
  )
  return {
    name: `svc over HTTP, ${count === 1 ? '1 control plane' : `${count} control planes`}`,
    about: `PostgreSQL ${postgres.version}, fsync on, ${CONNECTIONS} connections a control plane, each message with a key`,
    measure: milliseconds => cyclesPerSecond(cycles, milliseconds),
    async close() {
      for (const client of opened) client.close()
    }
  }
}

const clients = Number(values.clients)
const counts = values.planes.split(',').map(Number)
const folder = openFolder('http')
const leftOut = new LeftOut()
const postgres = await leftOut.open('PostgreSQL', () => startPostgres(join(folder.path, 'postgres')))
const peers = await leftOut.openPeer('BullMQ', () => installPeers(PEERS))
const redis = peers === null ? null : await leftOut.open('redis-server', () => startRedis(join(folder.path, 'redis')))
const natsPeers = await leftOut.openPeer('JetStream', () => installPeers(`${PEERS}-nats`, JETSTREAM_PACKAGES))
const nats = natsPeers === null ? null : await leftOut.open('JetStream', () => startNats(join(folder.path, 'nats')))
const planes: Child[] = []
const contestants: Contestant[] = []
try {
  if (postgres !== null) {
    const program = await compiledProgram(folder.path)
    for (let plane = 0; plane < Math.max(...counts); plane += 1)
      planes.push(await startPlane(program, urlOf(postgres), LEASE_MS))
    for (const connections of new Set([Math.min(CONNECTIONS, clients), clients]))
      contestants.push(await bareQueue(postgres, connections, clients))
    for (const count of counts) contestants.push(await overHttp(planes, count, clients, postgres))
  }
  if (peers !== null && redis !== null)
    contestants.push(await taskQueue(progress => openBullmq(peers, redis, progress, false), clients))
  if (natsPeers !== null && nats !== null)
    contestants.push(await taskQueue(progress => openJetStream(natsPeers, nats, progress), clients))
  const results = await inRotation(contestants, {
    rounds: Number(values.rounds),
    milliseconds: Number(values.seconds) * 1_000
  })
  const result: HttpResult = { clients, results, left_out: leftOut.reasons }
  if (values.json) process.stdout.write(`${JSON.stringify({ benchmark: 'mesh/http', ...result })}\n`)
  else process.stdout.write(ratesText(results, contestants[0]?.name ?? '') + leftOut.text())
} finally {
  for (const contestant of contestants) await contestant.close()
  for (const plane of planes) await plane.kill()
  await Promise.all([redis?.stop(), nats?.stop(), postgres?.stop()])
  folder.remove()
}
process.exit()
