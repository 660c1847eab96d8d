import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { rootCertificates } from 'node:tls'
import {
  type Coordination,
  type HttpServer,
  httpHandlers,
  type KernelPort,
  type MeshAccess,
  type MeshSettings,
  metricsText,
  type Orchestrator
} from '@svc/contracts'
import { errorMessage, type Health, type PluginContext, type Ref } from '@svc/plugin-sdk'
import { a2aServerErrors } from './errors.ts'
import { renderMetrics } from './metrics.ts'
import { type CallbackRules, callbackAddresses } from './push/callback-address.ts'
import { deadNotifications, listDead, retryDead, retryNotification } from './push/operations.ts'
import { PushSender } from './push/push-sender.ts'
import { sendCallback } from './push/send-callback.ts'
import type { Settings } from './settings.ts'
import { TaskStore } from './tasks/task-store.ts'
import { WakeUp } from './wake-up.ts'
import { type Access, controlPlaneAccess, listenerAccess } from './wire/access.ts'
import { agentCard, extendedAgentCard } from './wire/agent-card.ts'
import { A2aRequestHandler } from './wire/request-handler.ts'
import { a2aRoutes } from './wire/routes.ts'
import { TaskFollowers } from './wire/task-followers.ts'
import { newHolder } from './work/holder.ts'
import { MeshFollower } from './work/mesh-follower.ts'
import { MeshMailboxes } from './work/mesh-mailbox.ts'
import { MeshTarget } from './work/mesh-target.ts'
import { OrchestratorTarget } from './work/orchestrator-target.ts'
import { Runner } from './work/runner.ts'
import type { Target } from './work/target.ts'

const PRUNE_MS = 60_000
const MAX_SCOPE_CHARS = 256

export interface ServerDependencies {
  readonly store: Coordination
  readonly kernel: KernelPort
  readonly orchestrator: Orchestrator | undefined
  readonly mesh: MeshSettings | undefined
  readonly access: MeshAccess | undefined
  readonly http: Ref<HttpServer> | undefined
}

/** Serves the protocol, and starts the work of this process on its tasks. */
export async function startServer(ctx: Context, deps: ServerDependencies): Promise<void> {
  const { config } = ctx
  const { store, kernel, mesh } = deps
  const holder = newHolder()
  const mailboxes = new MeshMailboxes(mesh?.scopeId ?? null)
  const scope = storeScopeOf(config.target === 'mesh' ? `mesh:${mailboxes.scope}` : kernel.repositoryId)
  const tasks = new TaskStore(store, scope, config.push_attempts)
  ctx.effect('A2A tasks', () => tasks.close())
  const access = accessOf(config, deps.access)
  const rules: CallbackRules = { privateHosts: config.push_private_hosts }
  const stopping = new AbortController()
  const work = workOf(ctx, config, { ...deps, store, tasks, mailboxes, holder })
  const card = (url = urlOf(config, deps.http)) =>
    agentCard({
      name: config.name,
      description: config.description,
      version: kernel.version,
      url: config.public_url?.replace(/\/+$/, '') ?? url,
      push: config.push,
      v0_3: config.v0_3
    })
  const followers = new TaskFollowers({
    tasks,
    maxStreams: () => ctx.config.max_streams,
    stopping: stopping.signal
  })
  const handler = new A2aRequestHandler({
    tasks,
    followers,
    target: work.target,
    log: ctx.log,
    maxOpenTasks: () => ctx.config.max_open_tasks,
    push: config.push,
    checkCallback: async url => void (await callbackAddresses(url, rules)),
    card,
    extendedCard: url => extendedAgentCard(card(url), deps.orchestrator?.agents() ?? [])
  })
  for (const item of a2aRoutes({ handler, access, log: ctx.log, config })) ctx.contribute(httpHandlers, item)
  ctx.onDrain('A2A streams', () => stopping.abort())

  const sender = config.push ? await openPush(ctx, config, { store, tasks, holder, rules }) : null
  ctx.implement(deadNotifications, listDead(store, scope))
  ctx.implement(retryNotification, retryDead(store, scope))
  ctx.onServe('A2A tasks', () => {
    // A command, which has no HTTP server, must not take tasks for the time that it runs.
    if (deps.http?.available === undefined) return
    ctx.background('A2A tasks', signal => work.run(signal))
    if (sender !== null) ctx.background('push notifications', signal => sender.run(signal))
    ctx.background('removal of old A2A tasks', signal => prune(ctx, tasks, holder, signal))
  })
  ctx.contribute(metricsText, {
    render: () => renderMetrics({ streams: followers.size, tasks: work.size(), push: sender?.counts ?? null })
  })
  ctx.health('target', () => work.health())
}

type Context = PluginContext<Settings>

/** Returns the scope of the tasks in the store, whose names have a limited length. */
function storeScopeOf(name: string): string {
  return name.length <= MAX_SCOPE_CHARS ? name : createHash('sha256').update(name).digest('hex')
}

interface WorkParts {
  readonly store: Coordination
  readonly tasks: TaskStore
  readonly mailboxes: MeshMailboxes
  readonly holder: string
  readonly orchestrator: Orchestrator | undefined
}

/** The target of the tasks, and the part of this process in their work. */
interface Work {
  readonly target: Target
  /** Works until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>
  /** Number of tasks in the orchestrator of this process. */
  size(): number
  health(): Health
}

function workOf(ctx: Context, config: Settings, parts: WorkParts): Work {
  const { store, tasks, mailboxes, holder, orchestrator } = parts
  const common = { store, tasks, holder, log: ctx.log }
  if (config.target === 'mesh') {
    const { receiver_agent: receiver, sender_agent: sender, node_stale_ms: staleMs } = config
    const target = new MeshTarget({ store, mailboxes, receiver, sender, staleMs })
    const follower = new MeshFollower({ ...common, target, mailboxes, sender })
    return {
      target,
      run: signal => follower.run(signal),
      size: () => 0,
      health: () => ({ status: 'ok', detail: `tasks go to the mailbox of agent ${receiver}` })
    }
  }
  const target: Target = new OrchestratorTarget(store, tasks.scope)
  if (orchestrator === undefined) {
    const detail = 'this process has no orchestrator; tasks wait for another process of this project that has one'
    return { target, run: async () => undefined, size: () => 0, health: () => ({ status: 'degraded', detail }) }
  }
  const runner = new Runner({ ...common, orchestrator })
  return {
    target,
    run: signal => runner.run(signal),
    size: () => runner.size,
    health: () => ({ status: 'ok', detail: `${runner.size} tasks in the orchestrator of this process` })
  }
}

interface PushParts {
  readonly store: Coordination
  readonly tasks: TaskStore
  readonly holder: string
  readonly rules: CallbackRules
}

async function openPush(ctx: Context, config: Settings, parts: PushParts): Promise<PushSender> {
  const { rules, ...common } = parts
  const ca = await authoritiesOf(ctx.projectRoot, config.push_ca_file)
  return new PushSender({
    ...common,
    log: ctx.log,
    send: (callback, signal) => sendCallback(callback, { ...rules, ca, signal })
  })
}

async function authoritiesOf(root: string, file: string | undefined): Promise<readonly string[] | undefined> {
  if (file === undefined) return undefined
  try {
    return [...rootCertificates, await readFile(resolve(root, file), 'utf8')]
  } catch (cause) {
    throw a2aServerErrors.create('A2S_SETTINGS_INVALID', `push_ca_file cannot be read: ${errorMessage(cause)}`, {
      at: { path: 'plugins.a2a-server.push_ca_file' },
      hint: 'name a PEM file, relative to the project',
      cause
    })
  }
}

function accessOf({ listener }: Settings, mesh: MeshAccess | undefined): Access {
  if (listener === 'main') return listenerAccess
  if (mesh !== undefined) return controlPlaneAccess(mesh)
  throw a2aServerErrors.create('A2S_SETTINGS_INVALID', 'listener = "mesh" needs the plugin mesh-control', {
    at: { path: 'plugins.a2a-server.listener' },
    hint: 'enable it, or set listener = "main"'
  })
}

/** Returns the URL at which this server listens, for the card where no request names its host. */
function urlOf({ listener }: Settings, http: Ref<HttpServer> | undefined): string {
  return http?.available?.addresses.find(each => each.listener === listener)?.url ?? 'http://127.0.0.1'
}

async function prune(ctx: Context, tasks: TaskStore, holder: string, signal: AbortSignal): Promise<void> {
  const pause = new WakeUp()
  while (!signal.aborted) {
    try {
      while ((await tasks.prune(ctx.config.keep_tasks, holder)) > 0) signal.throwIfAborted()
    } catch (error) {
      if (!signal.aborted) ctx.log.warn('old A2A tasks were not removed', { reason: errorMessage(error) })
    }
    await pause.wait(PRUNE_MS, signal)
  }
}
