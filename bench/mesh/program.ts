// Child process of the mesh benchmarks: a control plane, or nodes. Benchmarks compile this file like published plugins.
import { channel } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  databaseStore,
  type HttpServer,
  httpServer,
  type MeshPolicy,
  type MeshSettings,
  type Orchestrator,
  type RemoteProcessor
} from '@svc/contracts'
import { openTestKernel } from '@svc/kernel/testing'
import { definePlugin, type Logger, type Plugin, ref } from '@svc/plugin-sdk'
import coordination from '../../plugins/coordination/src/plugin.ts'
import coordinationPostgres from '../../plugins/coordination-postgres/src/plugin.ts'
import http from '../../plugins/http/src/plugin.ts'
import mesh from '../../plugins/mesh/src/plugin.ts'
import control from '../../plugins/mesh-control/src/plugin.ts'
import { MeshNodeService } from '../../plugins/mesh-node/src/node.ts'

/** First message of the parent. */
export type ProgramTask = PlaneTask | NodesTask

export interface PlaneTask {
  readonly kind: 'plane'
  /** URL of the PostgreSQL server; several hosts are separated by commas. */
  readonly store: string
  readonly connections: number
  readonly token: string
  /** Duration of a lease in milliseconds; at least 1,000. */
  readonly leaseMs: number
}

export interface NodesTask {
  readonly kind: 'nodes'
  readonly urls: readonly string[]
  readonly token: string
  /** Ids of the nodes, each with separate connections. */
  readonly ids: readonly string[]
  readonly policy: MeshPolicy
  readonly heartbeatSeconds: number
  /** Milliseconds over which the starts of the nodes are spread. */
  readonly spreadMs: number
}

/** Later message of the parent. */
export interface ProgramCall {
  readonly call: 'usage' | 'finish'
}

export interface Usage {
  /** Time of the CPU in milliseconds since the start. */
  readonly cpuMs: number
  /** Bytes that clients sent and received since the start, with the headers of HTTP. */
  readonly bytes: number
  readonly requests: number
}

export type ProgramReport =
  | { readonly ready: string }
  | { readonly usage: Usage }
  /** A node began work on a message. */
  | { readonly began: string; readonly node: string }

const report = (message: ProgramReport): void => void process.send?.(message)
const silent = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger

/** Counts the traffic of all servers of this process. */
function countTraffic(): () => Pick<Usage, 'bytes' | 'requests'> {
  const open = new Set<Socket>()
  let closed = 0
  let requests = 0
  const bytesOf = ({ bytesRead, bytesWritten }: Socket): number => bytesRead + bytesWritten
  channel('net.server.socket').subscribe(message => {
    const { socket } = message as { readonly socket: Socket }
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      closed += bytesOf(socket)
    })
  })
  channel('http.server.request.start').subscribe(() => {
    requests += 1
  })
  return () => ({ bytes: [...open].reduce((sum, socket) => sum + bytesOf(socket), closed), requests })
}

/** Opens a control plane on a free port. Returns its URL. */
async function openPlane({ store, connections, token, leaseMs }: PlaneTask): Promise<string> {
  let server: { readonly current: HttpServer } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer) },
    activate(_ctx, deps) {
      server = deps.server
    }
  })
  await openTestKernel({
    plugins: [http, coordinationPostgres, coordination, mesh, control, probe] as Plugin[],
    // The store is on the server, so that no database of a project is opened.
    services: new Map([[databaseStore.id, {}]]),
    settings: {
      http: { main: false },
      'coordination-postgres': { url: store, connections },
      mesh: { node_id: 'plane', token },
      'mesh-control': { port: 0, drain_ms: 0, a2a_lease_ms: leaseMs }
    }
  })
  const address = server?.current.addresses.find(({ listener }) => listener === 'mesh')
  if (address === undefined) throw new Error('the control plane does not listen')
  return address.url
}

/** Functions that end the running work. */
const finishes = new Set<() => void>()

/** Reports the begin of work, and works until the parent ends it. */
const processorOf = (node: string): RemoteProcessor => ({
  name: 'bench',
  async run({ key }, signal) {
    report({ began: key, node })
    await new Promise<void>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      finishes.add(resolve)
    })
    return { result: 'done' }
  }
})

/** Starts nodes with all loops of the plugin, and an orchestrator without tasks. */
async function openNodes(task: NodesTask): Promise<void> {
  const { urls, token, policy, heartbeatSeconds, spreadMs, ids } = task
  const orchestrator = {
    repositoryId: 'bench',
    policy: { mesh: policy },
    remote: {
      setNodes: (_source: string, nodes: readonly unknown[]) => ({ before: nodes.length, after: nodes.length }),
      held: () => [],
      withdrawn: () => () => {}
    },
    tasks: () => [],
    task: () => null,
    agents: () => [],
    status: () => ({ total_completed: 0, total_failed: 0, total_cancelled: 0 }),
    subscribe: () => () => {}
  } as unknown as Orchestrator
  for (const id of ids) {
    const processor = processorOf(id)
    const settings: MeshSettings = {
      enabled: true,
      controlUrls: urls,
      inferenceBaseUrl: null,
      scopeId: null,
      labels: ['bench'],
      nodeId: id,
      httpJoin: true,
      heartbeatSeconds,
      maxStaleMs: 0,
      telemetry: false,
      gpuReadinessProbe: false,
      advertise: { gpu: false, vulkan: false, webgpu: false, npu: false, deviceClass: null },
      reuseKeysAfterAck: false,
      token: () => token,
      resultSigningKey: () => null,
      roleTokens: () => ({})
    }
    const node = new MeshNodeService({
      config: { processor: 'auto', max_jobs: 1, repositories: ['*'], publish_tasks: true, accept_verbs: true },
      log: silent,
      version: '1.0.0',
      repositoryId: 'bench',
      settings,
      orchestrator,
      kernel: { invoke: () => Promise.reject(new Error('the benchmark calls no operation')) },
      database: null,
      coordination: () => undefined,
      fleet: () => undefined,
      processor: () => processor,
      inference: () => undefined,
      seat: async () => ({ number: 1, release: async () => {} })
    })
    node.start()
    await sleep(spreadMs / ids.length)
  }
}

const traffic = countTraffic()

process.once('message', async (task: ProgramTask) => {
  process.on('message', ({ call }: ProgramCall) => {
    if (call === 'finish') {
      for (const finish of finishes) finish()
      finishes.clear()
      return
    }
    const { user, system } = process.cpuUsage()
    report({ usage: { cpuMs: (user + system) / 1_000, ...traffic() } })
  })
  try {
    if (task.kind === 'plane') report({ ready: await openPlane(task) })
    else {
      await openNodes(task)
      report({ ready: 'nodes' })
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(1)
  }
})
process.once('disconnect', () => process.exit(0))
