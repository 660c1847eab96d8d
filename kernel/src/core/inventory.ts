import { type SecretReference, secretServices } from '@svc/contracts'
import type { PluginManifest, ServiceId } from '@svc/plugin-sdk'
import type { UnitPolicy } from './activate.ts'
import { kernelErrors } from './errors.ts'
import type { Generation } from './generation.ts'
import { type Absent, type Graph, resolveGraph } from './graph.ts'
import type { Fingerprinted, RunningUnit } from './plan.ts'
import type { PluginSource } from './plugin-source.ts'
import { PluginRecord } from './record.ts'

/** Configuration of one plugin. */
export interface PluginConfiguration {
  /** Undefined: the manifest's `enabledByDefault` decides. */
  readonly enabled: boolean | undefined
  /** Reason for which an enabled plugin may not run, or a plugin is disabled; null if there is none. */
  readonly error: string | null
  readonly policy: UnitPolicy
  /** Returns the settings. Each secret reference is replaced by the secret that `resolve` returns. */
  settings(resolve: (reference: SecretReference) => Promise<string>): Promise<unknown>
  /** Backends of the `secret://` references in the settings. The plugin requires their services. */
  readonly secretBackends: readonly string[]
  /** Differs if settings or policy changed in a way that requires a new unit. */
  readonly fingerprint: string
}

export type Configure = (name: string) => PluginConfiguration

/** The plugins that should run, and their order. */
export interface Desired {
  readonly graph: Graph
  readonly units: ReadonlyMap<string, Fingerprinted>
}

/** Sources and configuration that a change adopts. An absent field changes nothing. */
export interface Wanted {
  /** All known plugins. */
  readonly sources?: readonly PluginSource[]
  readonly configuration?: Configure
  /** True for plugins to activate. For the others, only manifests are read. */
  readonly chosen?: (name: string) => boolean
}

/** Pending adoption of sources and configuration, until the change succeeds or fails. */
export interface Adoption {
  /** Failed plugins whose configuration changed; they are retried. */
  readonly changed: readonly string[]
  /** Restores the previous state. */
  undo(): void
  /** Releases sources that are no longer needed. */
  settle(): void
}

/** Known plugins: those that can be activated, disabled ones and broken ones. */
interface Sorted extends Absent {
  readonly candidates: readonly PluginManifest[]
  readonly off: readonly PluginManifest[]
  readonly broken: readonly PluginManifest[]
}

/** Decision on whether a plugin may run; if not, with its state and the reason. */
type RunDecision =
  | { readonly run: true }
  | { readonly run: false; readonly state: 'invalid' | 'disabled' | 'failed'; readonly why: string | null }

const NO_RETRY: ReadonlySet<string> = new Set()

/** Cached graph with the inputs that it was computed from. */
interface Resolved extends Sorted {
  readonly graph: Graph
}

/** Records of all known plugins. Decides which of them should run. */
export class Inventory {
  readonly records = new Map<string, PluginRecord>()
  readonly #builtin: ReadonlySet<string>
  #resolved: Resolved | undefined
  /** Manifests of plugins with secret references, extended by the services that resolve them. */
  readonly #withSecretServices = new WeakMap<PluginManifest, PluginManifest>()
  #isChosen: (name: string) => boolean = () => true
  #configure: Configure = () => {
    throw new Error('the kernel was not configured')
  }

  readonly #stateChanged: (plugin: string) => void

  /** `builtin`: services of the kernel itself. `stateChanged`: called after the state of a plugin changed. */
  constructor(builtin: ReadonlySet<string>, stateChanged: (plugin: string) => void) {
    this.#builtin = builtin
    this.#stateChanged = stateChanged
  }

  configurationOf(name: string): PluginConfiguration {
    return this.#configure(name)
  }

  adopt({ sources, configuration, chosen }: Wanted): Adoption {
    const [previous, isChosen] = [this.#configure, this.#isChosen]
    const before = [...this.records.values()].map(record => ({ record, source: record.source, code: record.code }))
    if (configuration !== undefined) this.#configure = configuration
    if (chosen !== undefined) this.#isChosen = chosen
    if (sources !== undefined) this.#adoptSources(sources)
    return {
      changed: configuration === undefined ? [] : this.#failedAndChanged(previous, configuration),
      undo: () => {
        this.#configure = previous
        this.#isChosen = isChosen
        this.records.clear()
        for (const { record, source, code } of before) {
          record.source = source
          record.code = code
          this.records.set(record.name, record)
        }
      },
      settle: () => {
        for (const { record, source } of before) {
          if (this.records.get(source.name) !== record) record.cancelRetry()
          else if (record.source === source) continue
          void source.close().catch(() => {})
        }
      }
    }
  }

  #adoptSources(sources: readonly PluginSource[]): void {
    const names = new Set(sources.map(source => source.name))
    for (const name of this.records.keys()) if (!names.has(name)) this.records.delete(name)
    for (const source of sources) {
      const record = this.records.get(source.name)
      if (record === undefined) this.records.set(source.name, this.#newRecord(source))
      else if (record.source !== source) {
        record.source = source
        record.code = null
      }
    }
  }

  #newRecord(source: PluginSource): PluginRecord {
    return new PluginRecord(source, () => this.#stateChanged(source.name))
  }

  /** Reads missing or stale code of every plugin that may run. Returns the plugins whose code cannot be read. */
  async prepareCode(stale: ReadonlySet<string>, retry: ReadonlySet<string>): Promise<Map<string, unknown>> {
    const problems = new Map<string, unknown>()
    const wanted = [...this.records.values()].filter(
      record =>
        this.#isChosen(record.name) &&
        this.#decide(record, retry).run &&
        (record.code === null || stale.has(record.name))
    )
    // Waits for all, so that none is still running if the change fails.
    await Promise.all(
      wanted.map(async record => {
        try {
          record.code = await record.source.prepare()
        } catch (error) {
          problems.set(record.name, error)
        }
      })
    )
    return problems
  }

  /**
   * Returns the plugins that should run. Includes failed plugins only if they are in `retry`. If two plugins provide
   * one service, the running one is preferred.
   */
  desired(retry: ReadonlySet<string>): Desired {
    const candidates: PluginManifest[] = []
    const off: PluginManifest[] = []
    const broken: PluginManifest[] = []
    const runningFirst = [...this.records.values()].sort((a, b) => Number(b.unit !== null) - Number(a.unit !== null))
    for (const record of runningFirst) {
      const { manifest, name } = record
      if (manifest === null || record.source.problem !== null) continue
      const readable = record.code !== null || !this.#isChosen(name)
      if (readable && this.#decide(record, retry).run) candidates.push(this.#withSecrets(manifest))
      else (this.#isEnabled(record) ? broken : off).push(manifest)
    }
    const graph = this.#graphOf({ candidates, off, broken })
    const units = new Map<string, Fingerprinted>()
    for (const manifest of candidates) {
      const { name } = manifest
      if (!this.#isChosen(name) || graph.blocked.has(name)) continue
      const fingerprint = `${this.records.get(name)?.code?.fingerprint} ${this.#configure(name).fingerprint}`
      units.set(name, { manifest, fingerprint })
    }
    return { graph, units }
  }

  /** Returns the reason for which a plugin does not run in the desired state; null if it runs or is not known. */
  whyNot(name: string, { units, graph }: Desired, retry: ReadonlySet<string>): string | null {
    const record = this.records.get(name)
    if (record === undefined || units.has(name)) return null
    const decision = this.#decide(record, retry)
    if (!decision.run) return decision.why ?? `it is ${decision.state}`
    return graph.blocked.get(name)?.reason ?? record.fault ?? 'its code cannot be read'
  }

  /** Returns the running units for the plan, in activation order, without crashed ones. */
  running(current: Generation): Map<string, RunningUnit> {
    const running = new Map<string, RunningUnit>()
    for (const [name, { manifest }] of current.units) {
      const record = this.records.get(name)
      // A removed or quarantined plugin is still part of the generation. The empty fingerprint makes the plan remove
      // it.
      if (record === undefined || record.quarantined)
        running.set(name, { manifest, fingerprint: '', bindings: new Map() })
      else if (record.running !== null) running.set(name, record.running)
    }
    return running
  }

  /** Throws if a plugin with the boot policy `abort` cannot run. */
  assertRequired({ units, graph }: Desired, problems: ReadonlyMap<string, unknown>): void {
    for (const record of this.records.values()) {
      const { name } = record
      const { policy, error } = this.#configure(name)
      if (policy.onBootFailure !== 'abort' || units.has(name) || !this.#isChosen(name) || !this.#isEnabled(record))
        continue
      const cause = problems.get(name) ?? record.source.problem
      if (cause !== null) throw cause
      const why = error ?? graph.blocked.get(name)?.reason ?? 'it cannot be loaded'
      throw kernelErrors.create('KRN_ACTIVATE_FAILED', `${name} is required but cannot run: ${why}`, { plugin: name })
    }
  }

  /** Updates the records after a generation began to serve. */
  note(generation: Generation, { units, graph }: Desired): void {
    for (const [name, record] of this.records) {
      const unit = generation.units.get(name) ?? null
      const wanted = units.get(name)
      if (unit !== null && unit !== record.unit) {
        record.fault = null
        record.refusal = null
      }
      record.unit = unit
      record.running = null
      if (unit === null || wanted === undefined) this.#setInactive(record, graph)
      else record.running = { ...wanted, bindings: bindingsOf(name, graph, generation) }
    }
  }

  /** Sets the state of a plugin that does not run, with the reason. */
  #setInactive(record: PluginRecord, graph: Graph): void {
    if (record.unit !== null) return
    const blocked = graph.blocked.get(record.name)
    const decision = this.#decide(record)
    if (!decision.run) {
      if (decision.state === 'disabled') record.cancelRetry()
      if (decision.state !== 'failed') record.setInactive(decision.state, decision.why)
    } else if (record.code === null && this.#isChosen(record.name)) record.setInactive('invalid', record.fault)
    else if (blocked !== undefined)
      record.setInactive(blocked.code === 'KRN_WAITING' ? 'waiting' : 'invalid', blocked.reason)
    else record.setInactive('resolved', record.fault)
  }

  #failedAndChanged(previous: Configure, next: Configure): string[] {
    const key = ({ enabled, error, fingerprint }: PluginConfiguration): string => `${enabled} ${error} ${fingerprint}`
    const failed = [...this.records.values()].filter(record => record.failed)
    return failed.map(({ name }) => name).filter(name => key(previous(name)) !== key(next(name)))
  }

  /** True if the plugin is enabled, by its settings or by default. */
  #isEnabled(record: PluginRecord): boolean {
    return this.#configure(record.name).enabled ?? record.manifest?.enabledByDefault ?? true
  }

  /** Decides whether a plugin may run. Plugins in `retry` may run even if they failed before. */
  #decide(record: PluginRecord, retry = NO_RETRY): RunDecision {
    const { problem } = record.source
    if (problem !== null) return { run: false, state: 'invalid', why: problem.message }
    const { error } = this.#configure(record.name)
    if (!this.#isEnabled(record)) return { run: false, state: 'disabled', why: error }
    if (record.failed && !retry.has(record.name)) return { run: false, state: 'failed', why: record.fault }
    return error === null ? { run: true } : { run: false, state: 'invalid', why: error }
  }

  /** Returns the dependency graph. Cached, since it depends only on manifests, which most changes do not affect. */
  #graphOf(sorted: Sorted): Graph {
    const known = this.#resolved
    if (known !== undefined && isSameSorted(known, sorted)) return known.graph
    const { candidates, off, broken } = sorted
    const unread = off.map(({ name }) => name).filter(name => this.records.get(name)?.source.isSketch === true)
    const graph = resolveGraph(candidates, this.#builtin, { off, broken, unread })
    this.#resolved = { ...sorted, graph }
    return graph
  }

  #withSecrets(manifest: PluginManifest): PluginManifest {
    const { secretBackends } = this.#configure(manifest.name)
    if (secretBackends.length === 0) return manifest
    const tokens = secretServices(secretBackends, token => this.#isProvided(token))
    const requires = [...new Set([...manifest.requires, ...tokens])]
    if (requires.length === manifest.requires.length) return manifest
    // Reuses the manifest object for equal requirements, so that the cached graph stays valid.
    const known = this.#withSecretServices.get(manifest)
    if (known?.requires.join() === requires.join()) return known
    const extended = { ...manifest, requires }
    this.#withSecretServices.set(manifest, extended)
    return extended
  }

  #isProvided(token: ServiceId): boolean {
    return this.#builtin.has(token) || [...this.records.values()].some(each => each.manifest?.provides.includes(token))
  }
}

function isSameSorted(a: Sorted, b: Sorted): boolean {
  return isSame(a.candidates, b.candidates) && isSame(a.off, b.off) && isSame(a.broken, b.broken)
}

function isSame(a: readonly PluginManifest[], b: readonly PluginManifest[]): boolean {
  return a.length === b.length && a.every((each, index) => each === b[index])
}

function bindingsOf(name: string, graph: Graph, { units }: Generation): Map<string, string> {
  const bindings = new Map<string, string>()
  for (const { from, to, token, kind } of graph.edges) {
    if (from !== name || to === null || (kind !== 'requires' && kind !== 'optional')) continue
    if (to === 'kernel' || units.has(to)) bindings.set(token, to)
  }
  return bindings
}
