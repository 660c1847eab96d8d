import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type A2aBus,
  type AgentEvent,
  a2aBus,
  agentFleet,
  type Coordination,
  coordinationBackend,
  coordinationStore,
  type DatabaseStore,
  databaseStore,
  type HttpServer,
  httpServer,
  type KernelPort,
  kernelPort,
  type MeshNode,
  meshNode,
  type Orchestrator,
  orchestrator as orchestratorToken,
  type RepositoryTasks,
  repositoryTasks,
  type StatusSection,
  type SubmitRequest,
  statusSections,
  type TaskProcessor,
  type TaskView,
  taskProcessors
} from '@svc/contracts'
import a2a from '@svc/plugin-a2a'
import fleet from '@svc/plugin-agent-fleet'
import coordination from '@svc/plugin-coordination'
import database from '@svc/plugin-database'
import http from '@svc/plugin-http'
import mesh from '@svc/plugin-mesh'
import control from '@svc/plugin-mesh-control'
import orchestrator from '@svc/plugin-orchestrator'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { fake, type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import type { Test } from 'tap'
import { freePort } from '../../../test/free-port.ts'
import '../../database/test/built-worker.ts'
import plugin from '#plugin'

export const TOKEN = 'test-token-of-the-mesh'

/** Returns a folder that is removed at the end of the test. */
export function freshFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'mesh-node-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface ControlOptions {
  /** Database of the control plane; planes with the same file are one. */
  readonly file?: string
  readonly port?: number
  readonly settings?: object
  readonly mesh?: object
}

export interface Control {
  readonly url: string
  readonly port: number
  readonly store: Coordination
  readonly kernel: TestKernel
  close(): Promise<void>
}

/** Opens a control plane with the embedded store. */
export async function openControl(t: Test, options: ControlOptions = {}): Promise<Control> {
  const {
    file = join(freshFolder(t), 'plane.db'),
    port = await freePort(),
    settings = {},
    mesh: meshConfig = {}
  } = options
  let held: { readonly server: { readonly current: HttpServer }; readonly store: Coordination } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: ref(httpServer), store: coordinationStore },
    activate(_ctx, deps) {
      held = deps
    }
  })
  const kernel = await testKernel([http, database, coordination, mesh, control, probe] as Plugin[], {
    settings: {
      http: { main: false, drain_ms: 500 },
      database: { path: file },
      mesh: { token: TOKEN, ...meshConfig },
      'mesh-control': { port, drain_ms: 0, ...settings }
    },
    services: [fake(coordinationBackend, { store: null })]
  })
  const close = once(() => kernel.close())
  t.teardown(close)
  const address = held?.server.current.addresses.find(({ listener }) => listener === 'mesh')
  if (held === undefined || address === undefined) throw new Error('the control plane does not listen')
  return { url: address.url, port: address.port, store: held.store, kernel, close }
}

export interface HostOptions {
  readonly name: string
  /** Control URL; undefined: none. */
  readonly url?: string | undefined
  /** Settings `mesh_*` of the orchestrator. */
  readonly orchestrator?: object
  readonly mesh?: object
  readonly node?: object
  readonly file?: string
  readonly processors?: readonly TaskProcessor[]
  readonly more?: readonly Plugin[]
  /** False: the node does not start its loops. */
  readonly start?: boolean
  /** False: no agents run. */
  readonly fleet?: boolean
}

export interface Host {
  readonly kernel: TestKernel
  readonly tasks: Orchestrator
  readonly node: MeshNode
  readonly bus: A2aBus
  readonly database: DatabaseStore
  readonly repository: RepositoryTasks
  readonly events: readonly AgentEvent[]
  /** Reads a section of the status. */
  section(key: string): Promise<any>
  submit(request?: Partial<SubmitRequest>): Promise<number>
  until(task: number, ...kinds: readonly string[]): Promise<TaskView>
  /** Writes what `svc mesh join` writes. */
  joinMesh(url: string): void
  close(): Promise<void>
}

/** Settings that make planner tasks leave the host. */
export const DELEGATES = {
  mesh_remote_execute_experimental: true,
  mesh_remote_lease_gating_enabled: true,
  mesh_remote_lease_gated_roles: ['planner'],
  mesh_remote_execute_receiver_agent: '2',
  mesh_remote_result_poll_interval_secs: 1,
  mesh_remote_worker_poll_interval_secs: 0,
  mesh_poll_interval_secs: 1
}

/** Settings of a host that runs tasks of others. */
export const WORKS = {
  mesh_remote_worker_poll_interval_secs: 1,
  mesh_poll_interval_secs: 1
}

/** Opens a host: orchestrator, agent fleet, and node of a mesh. */
export async function openHost(t: Test, options: HostOptions): Promise<Host> {
  const { name, url, processors = [], more = [], start = true, fleet: works = false } = options
  let held:
    | {
        readonly tasks: { readonly current: Orchestrator }
        readonly node: { readonly current: MeshNode }
        readonly bus: { readonly current: A2aBus }
        readonly database: { readonly current: DatabaseStore }
        readonly fleet: { readonly current: { start(): void } }
        readonly kernel: KernelPort
        readonly repository: { readonly current: RepositoryTasks }
      }
    | undefined
  let sections: readonly StatusSection[] = []
  const probe = definePlugin({
    name: 'probe',
    requires: {
      tasks: ref(orchestratorToken),
      node: ref(meshNode),
      bus: ref(a2aBus),
      fleet: ref(agentFleet),
      database: ref(databaseStore),
      repository: ref(repositoryTasks),
      kernel: kernelPort
    },
    points: [statusSections],
    activate(ctx, deps) {
      held = deps
      for (const processor of processors) ctx.contribute(taskProcessors, processor)
      ctx.follow(statusSections, items => {
        sections = items
      })
    }
  })
  const plugins = [database, orchestrator, coordination, fleet, mesh, plugin, a2a, probe, ...more]
  const kernel = await testKernel(plugins as Plugin[], {
    settings: {
      database: { path: options.file ?? join(freshFolder(t), 'host.db') },
      orchestrator: { stubcheck_gate: false, auto_continue_enabled: false, ...options.orchestrator },
      'agent-fleet': { processor: 'external' },
      mesh: {
        enabled: true,
        node_id: name,
        token: TOKEN,
        heartbeat_seconds: 1,
        gpu_readiness_probe_off: true,
        ...(url === undefined ? null : { control_url: url }),
        ...options.mesh
      },
      'mesh-node': { ...options.node }
    },
    services: [fake(coordinationBackend, { store: null })]
  })
  const close = once(() => kernel.close())
  t.teardown(close)
  if (held === undefined) throw new Error(`the probe of ${name} is not active`)
  const { tasks, node, bus, database: store, fleet: agents, kernel: port, repository } = held
  const events: AgentEvent[] = []
  tasks.current.subscribe(event => events.push(event))
  if (works) agents.current.start()
  if (start) node.current.start()
  return {
    kernel,
    events,
    get tasks() {
      return tasks.current
    },
    get node() {
      return node.current
    },
    get bus() {
      return bus.current
    },
    get database() {
      return store.current
    },
    get repository() {
      return repository.current
    },
    joinMesh(url) {
      const folder = join(port.stateRoot, 'plugins', 'mesh')
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      writeFileSync(join(folder, 'membership.json'), JSON.stringify({ control_urls: [url], token: TOKEN }), {
        mode: 0o600
      })
    },
    section: async key => sections.find(section => section.key === key)?.read(new AbortController().signal),
    submit: async request =>
      (await tasks.current.submit({ description: 'Write a greeting', files: [], ...request })).task_id,
    until: (task, ...kinds) =>
      eventually(
        () => {
          const view = tasks.current.task(task)
          return view !== null && kinds.includes(view.status.kind) ? view : null
        },
        () => `task ${task} of ${name} is ${kinds.join(' or ')}, but it is ${JSON.stringify(tasks.current.task(task))}`
      ),
    close
  }
}

/** A processor of the agent fleet that completes each task with a summary, or fails. */
export function worker(
  run: (task: TaskView, signal: AbortSignal) => Promise<string> = async task => `did: ${task.description}`
): TaskProcessor & { readonly seen: TaskView[] } {
  const seen: TaskView[] = []
  return {
    name: 'test',
    rank: 100,
    seen,
    takes: () => true,
    async run(task, work) {
      seen.push(task)
      return { completion_summary: await run(task, work.signal), checks_passed: ['peer_review_approved'] }
    }
  }
}

/** Resolves to the first result of `look` that is not null; rejects after 100 seconds. */
export async function eventually<A>(
  look: () => A | null | Promise<A | null>,
  expected: () => string = () => 'a state'
) {
  for (const until = Date.now() + 100_000; Date.now() < until; ) {
    const found = await look()
    if (found !== null) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  throw new Error(`not reached within 100 seconds: ${expected()}`)
}

function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null
  return () => {
    done ??= run()
    return done
  }
}
