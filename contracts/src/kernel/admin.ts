import {
  type ConfigProblem,
  type Health,
  type HookKind,
  type Permissions,
  type PluginManifest,
  type SettingExplanation,
  type SettingReport,
  service
} from '@svc/plugin-sdk'

export type { ConfigProblem, SettingExplanation, SettingReport } from '@svc/plugin-sdk'

import type { ConfigEditor } from './config-editor.ts'

/** Management of the running kernel, used by `svc plugins …` and `svc config …`. */
export const kernelAdmin = service<KernelAdmin>('kernel.admin@1')

export interface KernelAdmin {
  /** Whether the process serves until it is stopped; false for a process that runs a single command. */
  readonly serves: boolean
  /**
   * Whether the process is a server, `svc serve`, in which plugins may act without a request. False also for a command
   * that opens the whole project, such as `svc mcp`, for which `serves` is true.
   */
  readonly isServer: boolean
  /** Returns every known plugin, in activation order, with the reason for its state. */
  plugins(): readonly PluginReport[]
  manifest(name: string): PluginManifest | undefined
  /** Returns whether a plugin is bundled with svc. */
  isBundled(name: string): boolean
  /** Returns the dependency edges: requiring plugin, service, and providing plugin. */
  graph(): readonly GraphEdge[]
  /** Explains the state of a plugin or a service: one sentence per cause, outermost first. */
  why(nameOrToken: string): readonly string[]
  /** Returns every hook that a known plugin or the kernel declares, sorted by id. */
  hooks(): readonly HookReport[]
  /** Returns the tree of everything that a plugin has registered. */
  effects(name: string): EffectNode
  /** Measures CPU time by plugin over a sampling window. */
  top(milliseconds: number, signal?: AbortSignal): Promise<readonly CpuShare[]>
  health(): Promise<readonly HealthReport[]>
  /** Returns current problems of plugins and settings: invalid plugins, duplicate names, rejected settings. */
  findings(): readonly Finding[]
  /**
   * Replaces the findings of a reporter, for a plugin that checks contributions of others. Report an empty list before
   * the reporter ends.
   */
  report(reporter: symbol, findings: readonly Finding[]): void
  /** Plans a change and, unless `dryRun`, carries it out as one transaction. */
  apply(change: KernelChange, options?: { readonly dryRun?: boolean }): Promise<ChangeReport>
  /** Builds a plugin package for publishing: `dist/plugin.cjs` and `dist/plugin.json`. */
  build(directory: string): Promise<BuildReport>
  /** Returns every setting with value, layer and origin. Secrets are masked; references to secrets are shown. */
  settings(prefix?: string): readonly SettingReport[]
  /** Returns one setting with the values that it overrides. */
  explain(key: string): SettingExplanation
  /** Reads the configuration again without applying it. */
  validate(): Promise<readonly ConfigProblem[]>
  /** Returns the JSON Schema of `svc.toml` for editors. */
  configSchema(): Record<string, unknown>
  /** Reads and changes the project's `svc.toml`. */
  readonly configuration: ConfigEditor
  /** Resolves every secret that a setting refers to, and checks where literal secrets are. Returns no value. */
  secrets(signal?: AbortSignal): Promise<SecretsReport>
  /** Returns the last 100 generations and refused changes, newest first. */
  generations(): readonly GenerationReport[]
  /** Returns keys that two plugins claim, and packages that are ignored because of another one with the same name. */
  conflicts(): ConflictReport
  /** Returns the permissions of a plugin. Throws `KRN_PLUGIN_UNKNOWN`. */
  permissions(name: string): PermissionReport
  /** Ends a serving process as SIGTERM does: drains, closes, exits. A process that runs one command ends by itself. */
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
  /** Calls of operations since the start of the process, and how many of them failed. */
  readonly calls: number
  readonly failures: number
  readonly activateMs: number | null
  /** Why it is not active, or its problem; null if it is active and healthy. */
  readonly why: string | null
  /** Next step for `why`; null if there is none. */
  readonly hint: string | null
  /** True if the last change of the plugin was refused. Its previous version and settings stay in force. */
  readonly refused: boolean
  /** Package folder. */
  readonly location: string
}

export interface HookReport {
  readonly id: string
  readonly kind: HookKind
  /** Plugins that declare and trigger it, separated by commas, or `kernel`. */
  readonly owner: string
  readonly summary: string
  /** Rule for a tap that throws: `fail` fails the trigger, `skip` reports the error and continues. */
  readonly onError: 'fail' | 'skip'
  /** Descriptions of the first argument's fields, by name. */
  readonly payload: Readonly<Record<string, string>>
  /** Plugins that tap it now, in order. */
  readonly taps: readonly string[]
}

export interface GraphEdge {
  readonly from: string
  readonly token: string
  /** Null if no plugin provides it. */
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
  /** Share of the sampling window, 0 to 1. */
  readonly share: number
  readonly calls: number
}

export interface Finding {
  /** Plugin that has the problem, or null. */
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
   * Plugins to load that were left out at start, because a single command loads only its plugin or `--only` excluded
   * them. Their requirements are loaded, too. Disabled plugins stay off.
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
  /** One line per setting that was written to a file, or with a dry run would be. */
  readonly written?: readonly string[]
}

export interface BuildReport {
  readonly name: string
  readonly version: string
  /** Absolute paths of the written files. */
  readonly files: readonly string[]
}

export interface SecretsReport {
  /** Secret settings of every plugin, and other settings that refer to a secret. */
  readonly secrets: readonly SecretReport[]
  /** Configuration files that hold a literal secret. */
  readonly files: readonly SecretFile[]
}

export interface SecretReport {
  readonly key: string
  readonly plugin: string
  /** `reference`: `secret://BACKEND/NAME`. `literal`: the value itself, in a file or variable. `unset`: no value. */
  readonly kind: 'reference' | 'literal' | 'unset'
  /** The reference; null for another kind. */
  readonly reference: string | null
  readonly backend: string | null
  /** Whether the backend returned a value; null unless it is a reference. */
  readonly resolved: boolean | null
  /** Why it is not resolved, or null. Contains no secret. */
  readonly problem: string | null
  readonly layer: string
  /** File with line and column, variable, or option; null if unset. */
  readonly place: string | null
  readonly warnings: readonly string[]
}

export interface SecretFile {
  readonly path: string
  /** Permissions as octal digits, such as `0644`. */
  readonly mode: string
  /** True if other users may read the file. */
  readonly shared: boolean
  /** True if git tracks the file; null if that cannot be found out. */
  readonly tracked: boolean | null
}

/** One change of the running plugins. Plain data: it must not keep code of an old generation in memory. */
export interface GenerationReport {
  /** Number of the generation; of a refused change, the generation that continued to serve. */
  readonly generation: number
  /** Time of the change as ISO 8601. */
  readonly time: string
  /** For example `svc.toml changed` or `svc plugins enable http`. */
  readonly cause: string
  /** Milliseconds from the begin of the change until it served or was refused. */
  readonly ms: number
  readonly added: readonly string[]
  readonly replaced: readonly string[]
  readonly removed: readonly string[]
  readonly kept: readonly string[]
  /** Error of a refused change, without a code if it has none; null if the generation served. */
  readonly refused: { readonly code: string | null; readonly message: string } | null
}

export interface ConflictReport {
  readonly keys: readonly KeyConflict[]
  readonly names: readonly NameConflict[]
}

/** Key that more than one plugin declares, such as an operation, route, command, service or setting. */
export interface KeyConflict {
  /** For example `GET /kernel/plugins`, `operation a.b`, `service clock@1`. */
  readonly key: string
  readonly claims: readonly { readonly plugin: string; readonly state: PluginState }[]
  /** Plugin that has the key now; null if none has it. */
  readonly used: string | null
  /** Result for the others. */
  readonly detail: string
}

/** Package that is ignored because another one with the same name is used. */
export interface NameConflict {
  readonly name: string
  /** Folder of the package that is used. */
  readonly used: string
  /** Folder of the ignored package. */
  readonly shadowed: string
}

export interface PermissionReport {
  readonly plugin: string
  readonly isolation: 'in-process' | 'worker' | 'process'
  /** Permissions in the manifest. */
  readonly requested: Permissions
  /** Permissions in `svc.toml`, which replace the requested ones; null if it has none. */
  readonly granted: Permissions | null
  /** Permissions in force; null for a plugin in the process of svc, which may do everything that svc may. */
  readonly effective: Permissions | null
}
