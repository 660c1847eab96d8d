import {
  type ChangeReport,
  generationFlipped,
  type Invocation,
  type KernelPort,
  kernelPort,
  type PluginState,
  type SecretReference,
  type Surface,
  surfaces
} from '@svc/contracts'
import { isSvcError, type PluginManifest, type ServiceId, type SvcError } from '@svc/plugin-sdk'
import { activateInProcess, activationError, secretLookup, type UnitPolicy } from './activate.ts'
import type { ServiceContainer } from './container.ts'
import { kernelErrors } from './errors.ts'
import { diffGenerations, Generation } from './generation.ts'
import { type Graph, resolveGraph } from './graph.ts'
import { activateIsolated } from './isolation/host.ts'
import { Keep } from './keep.ts'
import type { KernelLogger } from './log.ts'
import type { BoundOperation, CallState } from './operations.ts'
import { type Fingerprinted, type Plan, planChange, type RunningUnit } from './plan.ts'
import { PluginRecord } from './record.ts'
import type { PluginSource } from './source.ts'
import { closest } from './suggest.ts'
import { buildShadow, type Shadow } from './transaction.ts'
import { Unit } from './unit.ts'

/** What the configuration says of one plugin. */
export interface PluginConfiguration {
  /** Undefined: the manifest's `enabledByDefault` decides. */
  readonly enabled: boolean | undefined
  /** Why it may not run although it is enabled, or is off; null when nothing speaks against it. */
  readonly error: string | null
  readonly policy: UnitPolicy
  /** Settings with secret references replaced by what `resolve` says. */
  settings(resolve: (reference: SecretReference) => Promise<string>): Promise<unknown>
  /** Whether settings hold `secret://` references, which makes the resolver a dependency. */
  readonly needsSecrets: boolean
  /** Changes when a change of settings or policy needs a new unit. */
  readonly fingerprint: string
}

export interface KernelOptions {
  readonly log: KernelLogger
  readonly projectRoot: string
  readonly dataRoot: string
  readonly repositoryId: string
  readonly version: string
  readonly services?: ReadonlyMap<ServiceId, unknown>
  /** Plugins to activate; the others stay as they are, but for their manifests unread. Absent: all that are enabled. */
  readonly activate?: ReadonlySet<string>
  onState?(plugin: string, state: PluginState): void
}

export interface ChangeRequest {
  readonly sources?: readonly PluginSource[]
  readonly configuration?: (name: string) => PluginConfiguration
  /** Plugins to replace although nothing about them changed. */
  readonly forced?: readonly string[]
  /** Plugins whose code is read again. */
  readonly stale?: readonly string[]
  readonly dryRun?: boolean
  /** The first change: a plugin that fails is left out by its policy instead of refusing the whole. */
  readonly boot?: boolean
}

const SECRETS: ServiceId = 'secrets.resolver@1'

/**
 * Plugins, generations and the transactions between them. Knows no files, no sockets and no formats.
 *
 * 1. {@link Kernel.change} with `boot` builds the first generation.
 * 2. Every further change plans, builds in the shadow, flips, and drains what is no longer used.
 * 3. {@link Kernel.close} drains and disposes everything, users before providers.
 */
export class Kernel implements KernelPort {
  readonly projectRoot: string
  readonly repositoryId: string
  readonly version: string
  readonly records = new Map<string, PluginRecord>()
  readonly log: KernelLogger
  readonly #options: KernelOptions
  readonly #keep = new Keep()
  readonly #builtin: Map<ServiceId, unknown>
  readonly #draining = new Set<Promise<void>>()
  #configuration: (name: string) => PluginConfiguration = () => {
    throw new Error('the kernel was not configured')
  }
  #current: Generation
  #graph: Graph = { order: [], edges: [], blocked: new Map() }
  #queue: Promise<unknown> = Promise.resolve()
  #closing = false

  constructor(options: KernelOptions) {
    this.#options = options
    this.log = options.log
    this.projectRoot = options.projectRoot
    this.repositoryId = options.repositoryId
    this.version = options.version
    this.#builtin = new Map([...(options.services ?? []), [kernelPort.id, this]])
    this.#current = new Generation(0, [], this.#builtin, this.#reportTap)
  }

  get current(): Generation {
    return this.#current
  }

  get graph(): Graph {
    return this.#graph
  }

  configurationOf(name: string): PluginConfiguration {
    return this.#configuration(name)
  }

  async invoke(operationId: string, input: unknown, call: Invocation): Promise<unknown> {
    const entry = this.#current.operations.get(operationId)
    if (entry !== undefined) return entry.invoke(input, call)
    const near = closest(operationId, [...this.#current.operations.keys()])
    throw kernelErrors.create('OPR_UNKNOWN', `no plugin offers the operation ${operationId}`, {
      hint: near === undefined ? 'svc plugins list shows what is active' : `did you mean ${near}?`
    })
  }

  /** One change at a time, in the order of asking. A refused change leaves everything as it was and throws why. */
  change(request: ChangeRequest): Promise<ChangeReport> {
    const turn = this.#queue.then(() => this.#change(request))
    this.#queue = turn.catch(() => {})
    return turn
  }

  /** Settings that changed without need of a new unit. */
  async reconfigure(name: string): Promise<void> {
    const unit = this.#current.units.get(name)
    if (unit === undefined) return
    await unit.reconfigure(await this.#configuration(name).settings(secretLookup(this.#current.services)))
  }

  /** An error that no caller can receive, from a plugin's timer or listener. */
  uncaught(unit: Unit, error: unknown): void {
    const policy = this.#configuration(unit.name).policy.uncaught
    this.log.forPlugin(unit.name).error('uncaught error', { error, policy })
    const record = this.records.get(unit.name)
    if (record !== undefined) record.why = `uncaught: ${error instanceof Error ? error.message : String(error)}`
    if (policy === 'abort-process' && unit.kill === null) process.exit(70)
    if (policy === 'abort-process') unit.kill?.(error)
    if (policy === 'restart') void this.#restart(unit)
  }

  /** The far side of an isolated unit ended by itself. Its operations answer 503 until it is back. */
  crashed(unit: Unit, error: SvcError): void {
    const record = this.records.get(unit.name)
    if (this.#closing) return
    this.log.forPlugin(unit.name).error(error.message, { error })
    // While it is activating the shadow is refused; while it drains nothing more is expected of it.
    if (unit.state !== 'draining') unit.lifecycle.to('failed')
    if (record?.unit !== unit) return
    record.running = null
    this.#failed(record, error.message, this.#configuration(unit.name).policy.onBootFailure !== 'continue')
    if (record.quarantined) void this.change({}).catch(() => {})
  }

  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    for (const record of this.records.values()) record.cancelRetry()
    await this.#queue
    // Who takes work from outside stops first, while everything that the work needs is still there.
    await Promise.all(
      this.#current.items<Surface>(surfaces).map(async ({ item, unit }) => {
        try {
          await item.quiesce?.()
        } catch (error) {
          this.log.forPlugin(unit.name).warn('stopping its work failed', { error })
        }
      })
    )
    const units = [...this.#current.units.values()].reverse()
    await this.#drainAll(units)
    await Promise.all(this.#draining)
    for (const record of this.records.values()) await record.source.close()
    this.log.flush()
  }

  async #change(request: ChangeRequest): Promise<ChangeReport> {
    if (this.#closing) throw kernelErrors.create('KRN_CLOSED', 'the kernel is closing; no change is accepted')
    const configuration = this.#configuration
    if (request.configuration !== undefined) this.#configuration = request.configuration
    if (request.sources !== undefined) this.#adoptSources(request.sources)
    for (const name of request.stale ?? []) {
      const record = this.records.get(name)
      if (record !== undefined) record.forgive()
    }
    const prepared = await this.#prepareCode(request).catch((error: unknown) => {
      if (this.#current.id > 0) this.#configuration = configuration
      throw error
    })
    for (;;) {
      const { graph, desired } = this.#desired()
      const plan = planChange(this.#running(), desired, graph, new Set(request.forced ?? []))
      if (request.dryRun === true) return this.#report(plan, false)
      if (plan.steps.length === 0 && this.#current.id > 0) {
        this.#graph = graph
        for (const name of this.records.keys()) this.#rest(name)
        return this.#report(plan, true)
      }
      try {
        const shadow = await this.#build(graph, plan, desired)
        this.#graph = graph
        this.#flip(shadow, plan, desired)
        return this.#report(plan, true)
      } catch (error) {
        if (request.boot === true && this.#leaveOut(error)) continue
        for (const undo of prepared) undo()
        if (this.#current.id > 0) this.#configuration = configuration
        this.#refused(error, plan)
        throw error
      }
    }
  }

  /** Records follow the sources: new ones appear, vanished ones are forgotten once they do not run. */
  #adoptSources(sources: readonly PluginSource[]): void {
    const names = new Set(sources.map(source => source.name))
    for (const source of sources) {
      const record = this.records.get(source.name)
      if (record === undefined) this.records.set(source.name, new PluginRecord(source))
      else if (record.source !== source) {
        void record.source.close()
        record.source = source
        if (record.code !== null) record.code = null
      }
    }
    for (const [name, record] of this.records) {
      if (names.has(name)) continue
      record.cancelRetry()
      void record.source.close()
      this.records.delete(name)
    }
  }

  /** Reads code of everything that may run and is not read yet; returns how to take it back. */
  async #prepareCode(request: ChangeRequest): Promise<(() => void)[]> {
    const stale = new Set(request.stale ?? [])
    const undo: (() => void)[] = []
    const wanted = [...this.records.values()].filter(
      record => this.#wanted(record.name) && this.#enabled(record) && (record.code === null || stale.has(record.name))
    )
    await Promise.all(
      wanted.map(async record => {
        const previous = record.code
        try {
          const code = await record.source.prepare()
          record.code = code
          undo.push(() => {
            if (record.code === code) record.code = previous
          })
        } catch (error) {
          if (request.boot !== true && (previous !== null || stale.has(record.name))) {
            record.why = message(error)
            throw error
          }
          record.why = message(error)
          this.log.forPlugin(record.name).error(`cannot load: ${message(error)}`, { error })
        }
      })
    )
    return undo
  }

  #wanted(name: string): boolean {
    return this.#options.activate?.has(name) ?? true
  }

  #enabled(record: PluginRecord): boolean {
    if (record.source.problem !== null || record.manifest === null || record.quarantined) return false
    const { enabled, error } = this.#configuration(record.name)
    return (enabled ?? record.manifest.enabledByDefault) && error === null
  }

  /** Which plugins should run, and in which order they can. */
  #desired(): { graph: Graph; desired: Map<string, Fingerprinted> } {
    const candidates: PluginManifest[] = []
    const disabled: PluginManifest[] = []
    for (const record of this.records.values()) {
      const manifest = record.manifest
      if (manifest === null || record.source.problem !== null) continue
      const readable = record.code !== null || !this.#wanted(record.name)
      if (this.#enabled(record) && readable && record.lifecycle.state !== 'failed') {
        candidates.push(this.#withSecrets(manifest))
      } else disabled.push(manifest)
    }
    const builtin = new Set<string>(this.#builtin.keys())
    const graph = resolveGraph(candidates, builtin, disabled)
    const desired = new Map<string, Fingerprinted>()
    for (const manifest of candidates) {
      const record = this.records.get(manifest.name)
      const fingerprint = `${record?.code?.fingerprint} ${this.#configuration(manifest.name).fingerprint}`
      if (this.#wanted(manifest.name) && !graph.blocked.has(manifest.name))
        desired.set(manifest.name, { manifest, fingerprint })
    }
    return { graph, desired }
  }

  #withSecrets(manifest: PluginManifest): PluginManifest {
    if (!this.#configuration(manifest.name).needsSecrets || manifest.requires.includes(SECRETS)) return manifest
    return { ...manifest, requires: [...manifest.requires, SECRETS] }
  }

  #running(): Map<string, RunningUnit> {
    const running = new Map<string, RunningUnit>()
    for (const [name, record] of this.records) {
      if (record.running !== null) running.set(name, record.running)
    }
    for (const [name, unit] of this.#current.units) {
      // A plugin whose folder vanished still runs until the flip; one in quarantine only seems to.
      if (this.records.get(name)?.quarantined ?? true)
        running.set(name, { manifest: unit.manifest, fingerprint: '', bindings: new Map() })
    }
    return running
  }

  #build(graph: Graph, plan: Plan, desired: ReadonlyMap<string, Fingerprinted>): Promise<Shadow> {
    const kept = new Map<string, Unit>()
    for (const name of plan.keep) {
      const unit = this.#current.units.get(name)
      if (unit !== undefined) kept.set(name, unit)
    }
    return buildShadow({
      id: this.#current.id + 1,
      order: graph.order.filter(name => desired.has(name)),
      kept,
      builtin: this.#builtin,
      activate: (name, draft) => this.#activate(name, draft),
      discard: unit => this.#discard(unit),
      report: this.#reportTap
    })
  }

  async #activate(name: string, draft: ServiceContainer): Promise<Unit> {
    const record = this.records.get(name)
    const code = record?.code
    if (record === undefined || code === undefined || code === null) throw new Error(`${name} has no code`)
    const { policy, settings } = this.#configuration(name)
    const log = this.log.forPlugin(name)
    const unit = new Unit(code.manifest, await settings(secretLookup(draft)), this.#settled, state =>
      this.#options.onState?.(name, state)
    )
    const started = performance.now()
    const activate = policy.isolation === 'in-process' ? activateInProcess : activateIsolated
    try {
      await activate(unit, code, record.source.location, policy, {
        keep: this.#keep,
        projectRoot: this.projectRoot,
        dataRoot: this.#options.dataRoot,
        draft,
        log,
        current: () => this.#current.services,
        invoke: (id, input, { caller, ...options }) =>
          this.invoke(id, input, { surface: 'internal', principal: pluginPrincipal(caller), ...options }),
        trigger: (id, args) => this.#current.hooks.trigger(id, args),
        onUncaught: (owner, error) => this.uncaught(owner, error),
        onCrash: (owner, error) => this.crashed(owner, error)
      })
    } catch (error) {
      await this.#discard(unit)
      throw activationError(name, error)
    }
    unit.activateMs = performance.now() - started
    return unit
  }

  async #discard(unit: Unit): Promise<void> {
    const { drainTimeoutMs } = this.#configuration(unit.name).policy
    const report = await unit.dispose(drainTimeoutMs)
    for (const error of report.errors) this.log.forPlugin(unit.name).warn('a disposer failed', { error })
  }

  /** Synchronous: between two requests everything is new. */
  #flip(shadow: Shadow, plan: Plan, desired: ReadonlyMap<string, Fingerprinted>): void {
    const previous = this.#current
    const next = shadow.generation
    this.#current = next
    for (const surface of shadow.prepared) surface.commit()
    for (const unit of shadow.fresh) {
      unit.lifecycle.to('active')
      unit.generation = next.id
    }
    this.#noteRunning(next, desired)
    const diff = diffGenerations(previous.id === 0 ? undefined : previous, next)
    this.log.info(`generation ${next.id}`, {
      units: next.units.size,
      added: diff.added,
      replaced: diff.replaced,
      removed: diff.removed
    })
    void next.hooks.trigger(generationFlipped.id, [diff])
    const old = [...previous.units.values()].filter(unit => next.units.get(unit.name) !== unit)
    const drained: Promise<void> = this.#drainAll(old.reverse()).finally(() => this.#draining.delete(drained))
    this.#draining.add(drained)
    for (const name of plan.remove) this.#rest(name)
  }

  #noteRunning(generation: Generation, desired: ReadonlyMap<string, Fingerprinted>): void {
    for (const [name, record] of this.records) {
      const unit = generation.units.get(name) ?? null
      const wanted = desired.get(name)
      if (unit !== null && unit !== record.unit) record.why = null
      record.unit = unit
      if (unit === null || wanted === undefined) record.running = null
      else {
        const bindings = this.#graph.edges
          .filter(edge => edge.from === name && edge.to !== null && generation.services.has(edge.token as ServiceId))
          .map(edge => [edge.token, edge.to as string] as const)
        record.running = { ...wanted, bindings: new Map(bindings) }
      }
      if (unit === null) this.#rest(name)
    }
  }

  /** The state of a plugin that does not run, with the reason. */
  #rest(name: string): void {
    const record = this.records.get(name)
    if (record === undefined || record.unit !== null || record.state === 'failed' || record.quarantined) return
    const { enabled, error } = this.#configuration(name)
    const blocked = this.#graph.blocked.get(name)
    if (record.source.problem !== null) record.rest('invalid', record.source.problem.message)
    else if (!(enabled ?? record.manifest?.enabledByDefault ?? true)) record.rest('disabled', error)
    else if (error !== null) record.rest('invalid', error)
    else if (record.code === null && this.#wanted(name)) record.rest('invalid', record.why)
    else if (blocked !== undefined) record.rest(blocked.code === 'KRN_WAITING' ? 'waiting' : 'invalid', blocked.reason)
    else record.rest('resolved', record.why)
  }

  /** Users before providers; each drains, then is disposed. */
  async #drainAll(units: readonly Unit[]): Promise<void> {
    for (const unit of units) {
      const { drainTimeoutMs } = this.#configuration(unit.name).policy
      const log = this.log.forPlugin(unit.name)
      const ended = await unit.drain(drainTimeoutMs)
      if (!ended)
        log.warn(
          `still busy after ${drainTimeoutMs} ms: ${unit.inFlight} calls, tasks ${[...unit.tasks.values()].join(', ') || 'none'}`
        )
      const report = await unit.dispose(drainTimeoutMs)
      for (const error of report.errors) log.warn('a disposer failed', { error })
      for (const label of report.stuck) log.error(`disposer "${label}" did not settle and was left behind`)
    }
  }

  /** At boot: whether the change can go on without the plugin that failed. */
  #leaveOut(error: unknown): boolean {
    const owners = isSvcError(error, 'KRN_CONFLICT') ? (error.data as { owners: string[] }).owners : undefined
    const name = owners?.[1] ?? (isSvcError(error) ? error.plugin : undefined)
    const record = name === undefined ? undefined : this.records.get(name)
    if (record === undefined || this.#configuration(record.name).policy.onBootFailure === 'abort') return false
    this.log.forPlugin(record.name).error(message(error), { error })
    this.#failed(record, message(error))
    return true
  }

  /** A refused change: plugins that were to be added count a failure; those that run keep running and say why. */
  #refused(error: unknown, plan: Plan): void {
    const name = isSvcError(error) ? error.plugin : undefined
    const record = name === undefined ? undefined : this.records.get(name)
    if (record === undefined || name === undefined) return
    if (plan.add.includes(name)) this.#failed(record, message(error))
    else record.why = `last change refused: ${message(error)}`
  }

  #failed(
    record: PluginRecord,
    why: string,
    retry = this.#configuration(record.name).policy.onBootFailure === 'retry'
  ): void {
    if (record.fail(why)) {
      this.log.forPlugin(record.name).error(`quarantined: ${why}`)
      return
    }
    if (!retry) return
    const delay = record.scheduleRetry(() => {
      record.lifecycle.to('discovered')
      this.change({ forced: [record.name] }).catch((error: unknown) =>
        this.log.forPlugin(record.name).warn('retry failed', { error })
      )
    })
    this.log.forPlugin(record.name).info(`next try in ${delay} ms`)
  }

  async #restart(unit: Unit): Promise<void> {
    if (this.#current.units.get(unit.name) !== unit) return
    await this.change({ forced: [unit.name] }).catch((error: unknown) =>
      this.log.forPlugin(unit.name).error('restart failed', { error })
    )
  }

  #report(plan: Plan, applied: boolean): ChangeReport {
    const { add, replace, remove, keep, steps } = plan
    return { applied, generation: this.#current.id, add, replace, remove, keep, steps }
  }

  readonly #settled = (
    unit: Unit,
    operation: BoundOperation,
    _milliseconds: number,
    error: unknown,
    call: CallState
  ): void => {
    if (
      !isSvcError(error) ||
      (error.code !== 'OPR_FAILED' && error.code !== 'OPR_OUTPUT_INVALID' && error.code !== 'OPR_TIMEOUT')
    )
      return
    this.log.forPlugin(unit.name).error(error.message, {
      operation: operation.descriptor.id,
      surface: call.surface,
      request_id: call.requestId,
      trace_id: call.traceId,
      error
    })
  }

  readonly #reportTap = (plugin: string, hookId: string, error: unknown): void => {
    this.log.forPlugin(plugin).error(`a tap on ${hookId} failed`, { error })
  }
}

function pluginPrincipal(name: string): Invocation['principal'] {
  return { id: `plugin:${name}`, role: 'plugin', scopes: ['*'] }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
