import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Peers } from '../task-queues/peer-packages.ts'
import type { Server } from '../task-queues/servers.ts'
import type { BenchTask, TaskProgress, TaskQueue } from '../task-queues/task-queue.ts'

const NATS = process.env.SVC_BENCH_NATS ?? 'nats-server'
/** First version that can sync each write to disk before it acknowledges it. */
const MIN_VERSION = [2, 10] as const
const START_LIMIT_MS = 10_000
const STREAM = 'bench'
const MAX_MESSAGES = 500

export const JETSTREAM_PACKAGES = ['@nats-io/transport-node@3.3.0', '@nats-io/jetstream@3.3.0']

/** Starts a NATS server whose JetStream syncs each write to disk. Throws if its version cannot. */
export async function startNats(folder: string): Promise<Server> {
  const version = /v(\d+\.\d+\.\d+)/.exec(execFileSync(NATS, ['--version'], { encoding: 'utf8' }))?.[1] ?? '0.0.0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1]))
    throw new Error(`nats-server ${version} cannot sync each write; version ${MIN_VERSION.join('.')} is needed`)
  mkdirSync(folder)
  const port = await freePort()
  const config = join(folder, 'nats.conf')
  writeFileSync(
    config,
    `listen: 127.0.0.1:${port}\njetstream { store_dir: ${JSON.stringify(join(folder, 'data'))}, sync_interval: always }\n`
  )
  const child = spawn(NATS, ['-c', config], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  return {
    port,
    version,
    async stop() {
      child.kill('SIGINT')
      await ended
    }
  }
}

/** Opens a work queue of JetStream. A message counts as completed when the server has confirmed its acknowledgement. */
export async function openJetStream(peers: Peers, nats: Server, progress: TaskProgress): Promise<TaskQueue> {
  const { connect } = peers.load('@nats-io/transport-node')
  const { jetstream, jetstreamManager } = peers.load('@nats-io/jetstream')
  const servers = `127.0.0.1:${nats.port}`
  const connection = await connected(() => connect({ servers }))
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: STREAM, subjects: [STREAM], retention: 'workqueue', storage: 'file' })
  await manager.consumers.add(STREAM, { durable_name: STREAM, ack_policy: 'explicit', max_ack_pending: MAX_MESSAGES })
  const client = jetstream(connection)
  const consumer = await client.consumers.get(STREAM, STREAM)
  const messages = await consumer.consume({ max_messages: MAX_MESSAGES })
  const complete = async (message: any): Promise<void> => {
    const { id } = message.json() as BenchTask
    progress.started(id)
    if (await message.ackAck()) progress.completed(id)
  }
  const working = (async () => {
    for await (const message of messages) void complete(message)
  })()
  return {
    name: 'JetStream',
    about: `@nats-io/jetstream ${peers.version('@nats-io/jetstream')}, nats-server ${nats.version}, sync_interval always`,
    async submit(tasks) {
      await Promise.all(tasks.map(task => client.publish(STREAM, JSON.stringify(task))))
    },
    async close() {
      await messages.close()
      await working
      await connection.close()
    }
  }
}

/** Connects to a server that is starting. */
async function connected(connect: () => Promise<any>): Promise<any> {
  const limit = performance.now() + START_LIMIT_MS
  for (;;) {
    try {
      return await connect()
    } catch (error) {
      if (performance.now() > limit) throw error
      await sleep(50)
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
