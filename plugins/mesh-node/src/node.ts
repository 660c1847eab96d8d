import { createHash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import {
  type A2aPlane,
  type AgentFleet,
  type Coordination,
  type InferenceClient,
  type InferenceServerSource,
  type KernelPort,
  type MeshActivities,
  type MeshPolicy,
  type MeshSettings,
  type NodeRecord,
  type NodeReport,
  type Orchestrator,
  type PrimaryDatabase,
  type RemoteProcessor,
  type StatusSection,
  type TaskViewSource,
  taskLabel
} from '@svc/contracts'
import { errorMessage, type Health, type Logger, settlesWithin, withTimeout } from '@svc/plugin-sdk'
import { meshActivitiesOf } from './activities.ts'
import { MeshClient } from './client.ts'
import { Delegation, PLACER } from './delegation.ts'
import { CachedGpuProbe, probeGpus } from './gpu-probe.ts'
import { chooseProcessor } from './job-processor.ts'
import { LeaseHolder } from './lease-holder.ts'
import { Loop } from './loop.ts'
import { nodeMailbox } from './mailboxes.ts'
import { Membership } from './membership.ts'
import { modelServers } from './model-servers.ts'
import type { NodeSeat } from './node-seat.ts'
import { NodesPoll } from './nodes-poll.ts'
import { cancelOrphans } from './orchestrator-processor.ts'
import { PlainRelay } from './plain-relay.ts'
import { meshPlane } from './plane.ts'
import { reconcileLeases } from './reconcile.ts'
import { holderId, holderReport, isGpuDeclared, nodeReportOf } from './record.ts'
import { RemoteVerbs } from './remote-verbs.ts'
import { ResultPoll } from './result-poll.ts'
import { federationSection, snapshotSection } from './sections.ts'
import type { Settings } from './settings.ts'
import { Telemetry } from './telemetry.ts'
import { PUBLISH_MS, ViewPublisher } from './view-publisher.ts'
import { ViewSource } from './view-source.ts'
import { Worker } from './worker.ts'

/** Inbox of work if no receiving agent is set. */
const DEFAULT_RECEIVER = '2'
/** Interval in milliseconds at which a node without a control URL looks for one. */
const UNCONFIGURED_MS = 5_000
/** Limit for the query of loaded models in milliseconds. */
const MODELS_TIMEOUT_MS = 2_000
/** Limit for taking back a task that the orchestrator no longer wants elsewhere, in milliseconds. */
const WITHDRAW_TIMEOUT_MS = 30_000
/** Limit for the end of running calls when the plugin stops, in milliseconds. */
const STOP_TIMEOUT_MS = 5_000
/** Scope of nodes in the coordination store if none is set. */
const DEFAULT_SCOPE = 'default'

export interface NodeParts {
  readonly config: Settings
  readonly log: Logger
  readonly version: string
  readonly repositoryId: string
  readonly settings: MeshSettings
  readonly orchestrator: Orchestrator
  readonly kernel: Pick<KernelPort, 'invoke'>
  readonly database: PrimaryDatabase | null
  readonly coordination: () => Coordination | undefined
  readonly fleet: () => AgentFleet | undefined
  readonly processor: () => RemoteProcessor | undefined
  readonly inference: () => InferenceClient | undefined
  /** Returns the number of this process on its machine. */
  readonly seat: () => Promise<NodeSeat>
}

/** This process as a node: its loops, and what it contributes to the orchestrator. */
export class MeshNodeService {
  readonly delegation: Delegation
  readonly plane: A2aPlane
  readonly sections: readonly StatusSection[]
  readonly views: TaskViewSource
  readonly modelServers: InferenceServerSource
  readonly activities: MeshActivities
  readonly #parts: NodeParts
  readonly #client: MeshClient
  readonly #holder: LeaseHolder
  readonly #telemetry: Telemetry
  readonly #poll: NodesPoll
  readonly #relay: PlainRelay
  readonly #results: ResultPoll
  readonly #verbs: RemoteVerbs
  readonly #gpus = new CachedGpuProbe(signal => this.#probeGpus(signal))
  /** Ids of this process in the mesh. */
  readonly #own = new Set<string>()
  readonly #withdrawals = new Set<Promise<void>>()
  #id: string
  #membership: Membership | null = null
  #worker: Worker | null = null
  #stopping: AbortController | null = null
  #loops: Promise<void> = Promise.resolve()
  #wakeResults = (): void => {}

  constructor(parts: NodeParts) {
    this.#parts = parts
    const { settings, orchestrator, log, version, repositoryId } = parts
    const policy = (): MeshPolicy => orchestrator.policy.mesh
    this.#id = settings.nodeId
    this.#client = new MeshClient({
      settings,
      controlUrl: () => policy().control_url,
      timeoutMs: () => policy().http_timeout_ms
    })
    const client = this.#client
    const holderRecord = holderReport(holderId(settings.nodeId, settings.scopeId), version, settings)
    this.#own.add(holderRecord.id)
    this.#holder = new LeaseHolder({ client, settings, report: holderRecord, log, onGrant: () => this.#wakeResults() })
    const holder = this.#holder
    this.#telemetry = new Telemetry({ database: parts.database, enabled: () => settings.telemetry, repositoryId, log })
    this.#poll = new NodesPoll({ client, orchestrator, policy, own: this.#own, log })
    this.modelServers = modelServers(this.#poll)
    this.delegation = new Delegation({ client, holder, orchestrator, policy, settings, log })
    this.#relay = new PlainRelay({ orchestrator, delegation: this.delegation, log })
    this.#results = new ResultPoll({
      client,
      holder,
      delegation: this.delegation,
      relay: this.#relay,
      orchestrator,
      policy,
      schedulable: () => this.#schedulable(),
      log
    })
    this.plane = meshPlane(client)
    const { kernel } = parts
    const { accept_verbs: accepts, publish_tasks: publishes } = parts.config
    const node = () => this.#id
    const work = () => this.#worker
    this.#verbs = new RemoteVerbs({ client, orchestrator, kernel, node, publishes, accepts, work, log })
    const report = (signal: AbortSignal) => this.#report(signal)
    const { coordination } = parts
    const scope = settings.scopeId ?? DEFAULT_SCOPE
    const local = { labels: settings.labels, coordination, scope }
    this.activities = meshActivitiesOf({ client, node, report, policy, log, ...local })
    this.views = new ViewSource({ client, repositoryId, storeId: () => this.#storeId(), verbs: this.#verbs })
    const options = { client, settings, poll: this.#poll, telemetry: this.#telemetry }
    this.sections = [snapshotSection(options), federationSection(options)]
  }

  /** Id under which this process joins. */
  get id(): string {
    return this.#id
  }

  get running(): boolean {
    return this.#stopping !== null
  }

  /** Starts the loops; no effect while they run. */
  start(): void {
    if (this.#stopping !== null) return
    this.#stopping = new AbortController()
    const { signal } = this.#stopping
    // Each call that runs listens to the signal: those of the loops, renewals of leases, and relays of tasks.
    setMaxListeners(0, signal)
    this.#loops = this.#run(signal).catch(error => {
      if (!signal.aborted) this.#parts.log.error('the mesh node stopped', { error })
    })
  }

  /** Stops the loops and resolves when they have ended. `leaves`: whether this node is removed from the mesh. */
  async stop(leaves: boolean): Promise<void> {
    const stopping = this.#stopping
    if (stopping === null) return
    const worker = this.#worker
    const membership = this.#membership
    stopping.abort(new Error('the mesh node stops'))
    const ended = Promise.all([worker?.stop(leaves), this.#loops, ...this.#withdrawals])
    if (!(await settlesWithin(STOP_TIMEOUT_MS, ended)))
      this.#parts.log.warn('calls of the mesh node did not end in time', { limit_ms: STOP_TIMEOUT_MS })
    if (leaves) await membership?.leave()
    await this.#telemetry.flush()
    this.#stopping = null
  }

  /** Removes the nodes of the mesh from the orchestrator, when this plugin is removed. */
  forgetNodes(): void {
    this.#poll.clear()
  }

  /** Takes work back that the orchestrator no longer wants elsewhere. Returns the function that ends this. */
  followWithdrawals(): () => void {
    const { orchestrator, log } = this.#parts
    return orchestrator.remote.withdrawn((task, delegate, why) => {
      if (delegate.placer !== PLACER) return
      const work = withTimeout(WITHDRAW_TIMEOUT_MS, signal =>
        this.delegation.takeBack(task, delegate, `the task was ${why}`, signal)
      )
        .then(
          () => {},
          error => log.warn('a task could not be taken back', { task: taskLabel(task), reason: errorMessage(error) })
        )
        .finally(() => this.#withdrawals.delete(work))
      this.#withdrawals.add(work)
    })
  }

  health(): Health {
    if (!this.#client.configured || !this.running) return { status: 'ok' }
    const { ok, detail } = this.plane.health()
    const failure = this.#poll.last?.error ?? (ok ? null : detail)
    return failure ? { status: 'degraded', detail: failure } : { status: 'ok', detail: `joined as ${this.#id}` }
  }

  async #run(signal: AbortSignal): Promise<void> {
    // Delegation does not need the node id, and must not miss a task.
    await Promise.all([this.#delegate(signal), this.#belong(signal)])
  }

  /** Joins the mesh once it is configured, reads its nodes, and works for it. */
  async #belong(signal: AbortSignal): Promise<void> {
    const { settings, seat } = this.#parts
    if (!settings.enabled) await this.#whenConfigured(signal)
    if (signal.aborted) return
    const { number } = await seat()
    this.#id = number === 1 ? settings.nodeId : `${settings.nodeId}-${number}`
    this.#own.add(this.#id)
    if (settings.enabled) await this.#publish(signal)
    const tasks = [this.#join(signal), this.#pollNodes(signal), this.#work(signal), this.#showTasks(signal)]
    await Promise.all(tasks)
  }

  /** Resolves when a control URL is set. */
  async #whenConfigured(signal: AbortSignal): Promise<void> {
    if (this.#client.configured) return
    const stop = new AbortController()
    const { log } = this.#parts
    const loop = new Loop({ label: 'mesh settings', intervalMs: UNCONFIGURED_MS, log }, async () => {
      if (this.#client.configured) stop.abort()
      return 'pause'
    })
    await loop.run(AbortSignal.any([signal, stop.signal]))
  }

  /** Writes the record of this machine to the coordination store of the project. */
  async #publish(signal: AbortSignal): Promise<void> {
    const { coordination, settings, log } = this.#parts
    const store = coordination()
    if (store === undefined) return
    const scope = settings.scopeId ?? DEFAULT_SCOPE
    try {
      const report = await this.#report(signal)
      const known = await store.nodes.find(scope, report.id)
      const fields = Object.entries(report).sort(([a], [b]) => (a < b ? -1 : 1))
      await store.nodes.put(scope, report.id, JSON.stringify(Object.fromEntries(fields)), known?.version ?? null)
      this.#telemetry.record('local_registry_publish', { node_id: report.id, kind: store.kind })
    } catch (error) {
      if (!signal.aborted) log.warn('the record of this node could not be published', { reason: errorMessage(error) })
    }
  }

  async #join(signal: AbortSignal): Promise<void> {
    const { settings, log } = this.#parts
    if (!settings.httpJoin) return
    const options = { client: this.#client, settings, telemetry: this.#telemetry, log }
    this.#membership = new Membership({ ...options, report: signal => this.#report(signal) })
    await this.#membership.run(signal)
  }

  async #pollNodes(signal: AbortSignal): Promise<void> {
    const { orchestrator, log } = this.#parts
    const policy = orchestrator.policy.mesh
    if (policy.poll_interval_secs === 0) return
    const reconcile = policy.exec_lease_reconcile
    const options = {
      client: this.#client,
      isStale: (node: NodeRecord) => this.#poll.isStale(node),
      autoRevoke: policy.exec_lease_auto_revoke,
      telemetry: this.#telemetry,
      log
    }
    const loop = new Loop({ label: 'node poll', intervalMs: policy.poll_interval_secs * 1_000, log }, async signal => {
      if (!this.#client.configured) {
        if (this.#poll.last !== null) this.#poll.clear()
        return 'pause'
      }
      await this.#poll.poll(signal)
      if (reconcile) await reconcileLeases(this.#poll.nodes, options, signal)
      return 'pause'
    })
    await loop.run(signal)
  }

  /** Delegates tasks and reads their results. */
  async #delegate(signal: AbortSignal): Promise<void> {
    const { orchestrator, log } = this.#parts
    const { remote_result_poll_interval_secs: seconds } = orchestrator.policy.mesh
    // A short lease needs more frequent renewals.
    const intervalMs = (): number => Math.min(seconds * 1_000, this.#holder.renewalMs)
    const loop = new Loop({ label: 'result poll', intervalMs, log }, async signal => {
      const { remote_execute_experimental: on } = orchestrator.policy.mesh
      // Held tasks need their leases, also after the setting was switched off.
      if (this.#client.configured && (on || this.#results.held().length > 0)) await this.#results.poll(signal)
      return 'pause'
    })
    this.#wakeResults = () => loop.wake()
    await Promise.all([this.#holder.run(signal), this.#relay.run(signal), seconds === 0 ? undefined : loop.run(signal)])
  }

  /** Whether this machine runs work of others. One that only reads the mesh does not. */
  get #runsWork(): boolean {
    const { config, settings, orchestrator } = this.#parts
    const { remote_worker_poll_interval_secs: seconds, remote_execute_experimental } = orchestrator.policy.mesh
    const isMember = settings.httpJoin && (settings.enabled || remote_execute_experimental)
    return isMember && seconds > 0 && config.processor !== 'off'
  }

  /** Runs tasks of other machines. */
  async #work(signal: AbortSignal): Promise<void> {
    const { config, orchestrator, fleet, processor, log } = this.#parts
    const { remote_worker_poll_interval_secs: seconds, remote_execute_receiver_agent } = orchestrator.policy.mesh
    if (!this.#runsWork) return
    await this.#membership?.whenJoined(signal)
    const signer = await this.#signer()
    const worker = new Worker({
      client: this.#client,
      node: this.#id,
      receiver: remote_execute_receiver_agent ?? DEFAULT_RECEIVER,
      mailbox: nodeMailbox(this.#id),
      maxJobs: config.max_jobs,
      repositories: config.repositories.includes('*') ? null : new Set(config.repositories),
      processor: chooseProcessor({ mode: config.processor, provided: processor, fleet, orchestrator }),
      sign: signer,
      log
    })
    this.#worker = worker
    let cleaned = false
    const loop = new Loop({ label: 'worker poll', intervalMs: seconds * 1_000, log }, async signal => {
      if (!this.#client.configured) return 'pause'
      const result = await worker.step(signal)
      if (!cleaned && worker.resumed) {
        cleaned = true
        const count = await cancelOrphans(orchestrator, worker.keys)
        if (count > 0) log.info('abandoned tasks of other machines were cancelled', { count })
      }
      return result
    })
    await loop.run(signal)
  }

  /** Publishes the open tasks of this process, and runs the verbs of other hosts on them. */
  async #showTasks(signal: AbortSignal): Promise<void> {
    const { config, settings, orchestrator, repositoryId, log } = this.#parts
    if (!settings.httpJoin || !(config.publish_tasks || this.#runsWork)) return
    await this.#membership?.whenJoined(signal)
    const publisher = new ViewPublisher({
      client: this.#client,
      orchestrator,
      node: this.#id,
      repositoryId,
      storeId: await this.#storeId(),
      mailbox: this.#verbs.mailbox
    })
    const publish = new Loop({ label: 'publication of tasks', intervalMs: PUBLISH_MS, log }, async signal => {
      if (this.#client.configured && config.publish_tasks) await publisher.publish(signal)
      return 'pause'
    })
    const receive = new Loop({ label: 'requests of other hosts', intervalMs: PUBLISH_MS, log }, async signal =>
      this.#client.configured ? this.#verbs.step(signal) : 'pause'
    )
    await Promise.all([publish.run(signal), receive.run(signal)])
    await this.#verbs.ended()
  }

  /** Names the database of this process: processes of several hosts may share a remote one. */
  async #storeId(): Promise<string> {
    const { database, settings } = this.#parts
    if (database === null || database.mode === 'file' || database.mode === 'memory') return `node ${settings.nodeId}`
    return `database ${createHash('sha256').update(database.location).digest('hex')}`
  }

  async #signer() {
    const key = this.#parts.settings.resultSigningKey()
    if (key === null) return null
    const { signResult } = await import('@svc/contracts/mesh-signature')
    return (payload: string) => signResult(payload, key)
  }

  async #report(signal: AbortSignal): Promise<NodeReport> {
    const { settings, config, version } = this.#parts
    return nodeReportOf({
      id: this.#id,
      version,
      settings,
      listenAddress: config.listen_addr ?? null,
      visibility: config.visibility ?? null,
      inbox: this.#runsWork ? nodeMailbox(this.#id) : null,
      gpus: await this.#gpus.facts(signal),
      loadedModels: await this.#loadedModels(signal),
      environment: process.env
    })
  }

  async #probeGpus(signal: AbortSignal) {
    const { settings } = this.#parts
    const declared = isGpuDeclared(process.env)
    const { gpuReadinessProbe: readiness } = settings
    return settings.advertise.gpu || declared || readiness ? probeGpus({ declared, readiness }, signal) : {}
  }

  async #loadedModels(signal: AbortSignal): Promise<readonly string[] | null> {
    try {
      const client = this.#parts.inference()
      if (client === undefined) return null
      const models = await withTimeout(MODELS_TIMEOUT_MS, limit => client.running(limit), { signal })
      return models.map(({ name }) => name)
    } catch {
      signal.throwIfAborted()
      return null
    }
  }

  /** Number of schedulable nodes at the last poll; null if unknown. */
  #schedulable(): number | null {
    const { last } = this.#poll
    if (last === null || last.error !== null) return null
    return last.hints.filter(hint => !hint.maintenance && !hint.quarantined && !hint.heartbeat_stale).length
  }
}
