import {
  type ConfigProblem,
  type Health,
  type HookKind,
  type PluginManifest,
  type SettingExplanation,
  type SettingReport,
  service
} from '@svc/plugin-sdk'

export type { ConfigProblem, SettingExplanation, SettingReport } from '@svc/plugin-sdk'

/** Management of the running kernel, used by `svc plugins …` and `svc config …`. */
export const kernelAdmin = service<KernelAdmin>('kernel.admin@1')

export interface KernelAdmin {
  /** Whether the process serves until it is stopped. One that runs a single command does not, and ends by itself. */
  readonly serves: boolean
  /** Every known plugin, in activation order, with the reason for its state. */
  plugins(): readonly PluginReport[]
  manifest(name: string): PluginManifest | undefined
  /** Whether a plugin comes with svc. */
  isBundled(name: string): boolean
  /** Dependency edges: requiring plugin, service, and providing plugin. */
  graph(): readonly GraphEdge[]
  /** Explains the state of a plugin or a service: one sentence per cause, outermost first. */
  why(nameOrToken: string): readonly string[]
  /** Every hook that a known plugin or the kernel declares, by id. */
  hooks(): readonly HookReport[]
  /** Tree of everything that a plugin has registered. */
  effects(name: string): EffectNode
  /** CPU time by plugin over a sampling window. */
  top(milliseconds: number, signal?: AbortSignal): Promise<readonly CpuShare[]>
  health(): Promise<readonly HealthReport[]>
  /** Current problems of plugins and settings: invalid plugins, taken names, refused settings. */
  findings(): readonly Finding[]
  /** Plans a change and, unless `dryRun`, carries it out as one transaction. */
  apply(change: KernelChange, options?: { readonly dryRun?: boolean }): Promise<ChangeReport>
  /** Builds a plugin package for publishing: `dist/plugin.cjs` and `dist/plugin.json`. */
  build(directory: string): Promise<BuildReport>
  /** Every setting with value, layer and place. Secrets are masked; references to secrets are shown. */
  settings(prefix?: string): readonly SettingReport[]
  /** One setting with the values that it overrides. */
  explain(key: string): SettingExplanation
  /** Reads the configuration again without applying it. */
  validate(): Promise<readonly ConfigProblem[]>
  /** JSON Schema of `svc.toml` for editors. */
  configSchema(): Record<string, unknown>
  /** Ends a served process as SIGTERM does: drains, closes, exits. A process that runs one command ends by itself. */
  stop(reason: string): void
}

export type PluginState =
  | 'discovered'
  | 'invalid'
  | 'disabled'
  | 'resolved'
  | 'waiting'
  | 'loading'
  | 'activating'
  | 'active'
  | 'degraded'
  | 'draining'
  | 'disposed'
  | 'failed'
  | 'quarantined'
  | 'stuck'

export interface PluginReport {
  readonly name: string
  readonly version: string
  readonly summary: string
  readonly state: PluginState
  /** Generation in which this instance began to serve. */
  readonly generation: number | null
  readonly isolation: 'in-process' | 'worker' | 'process'
  readonly operations: number
  readonly hooks: number
  readonly inFlight: number
  readonly activateMs: number | null
  /** Why it is not active, or what is wrong. */
  readonly why: string | null
  /** Package folder. */
  readonly location: string
}

export interface HookReport {
  readonly id: string
  readonly kind: HookKind
  /** Plugin that declares and triggers it, or `kernel`; several are separated by commas. */
  readonly owner: string
  readonly summary: string
  /** Effect of a throwing tap. */
  readonly onError: 'fail' | 'skip'
  /** Fields of the first argument, with a description each. */
  readonly payload: Readonly<Record<string, string>>
  /** Plugins that tap it now, in order. */
  readonly taps: readonly string[]
}

export interface GraphEdge {
  readonly from: string
  readonly token: string
  /** Null when nothing provides it. */
  readonly to: string | null
  readonly kind: 'requires' | 'optional' | 'ref' | 'after'
}

export interface EffectNode {
  readonly label: string
  readonly children: readonly EffectNode[]
}

export interface CpuShare {
  readonly plugin: string
  readonly cpuMs: number
  /** 0..1 of the window. */
  readonly share: number
  readonly calls: number
}

export interface Finding {
  /** Plugin of the problem, or null. */
  readonly plugin: string | null
  /** An error prevents a plugin or a setting from taking effect. */
  readonly severity: 'error' | 'warning'
  readonly code: string
  readonly message: string
  readonly hint: string | null
  /** Documented key of the setting, or null. */
  readonly key: string | null
  /** File or folder; null for a setting that no file holds. */
  readonly location: string | null
}

export interface HealthReport extends Health {
  readonly plugin: string
  readonly label: string
}

export interface KernelChange {
  readonly enable?: readonly string[]
  readonly disable?: readonly string[]
  readonly reload?: readonly string[]
  /**
   * Plugins left out at start that are needed now: a single command loads only its plugin, and --only names few. Their
   * requirements are loaded, too. Disabled plugins stay off.
   */
  readonly activate?: readonly string[]
  /** Whether enable and disable are also written to the project's `svc.toml`. */
  readonly persist?: boolean
}

export interface ChangeReport {
  readonly applied: boolean
  readonly generation: number
  readonly add: readonly string[]
  readonly replace: readonly string[]
  readonly remove: readonly string[]
  readonly keep: readonly string[]
  /** One line per step with its reason. */
  readonly steps: readonly string[]
}

export interface BuildReport {
  readonly name: string
  readonly version: string
  /** Absolute paths of what was written. */
  readonly files: readonly string[]
}
