import type { UnitPage } from '@svc/contracts'
import type { Disposer, Plugin, PluginManifest, SvcError } from '@svc/plugin-sdk'

/** Callbacks for one instance of a plugin's code. */
export interface InstanceHooks {
  effect(label: string, dispose: Disposer): Disposer
  /** Reports a resource that the plugin opened and did not close. */
  onLeak(description: string): void
  /** Reports an error that no caller can catch, from a timer or listener. */
  onError(error: unknown): void
}

export interface Instance {
  readonly plugin: Plugin
  /** Runs `open` without attributing its resources to this instance. */
  adopt<A>(open: () => A): A
}

/** Compiled code that can be instantiated any number of times. */
export interface PreparedCode {
  readonly manifest: PluginManifest
  /** Hash of the code. */
  readonly fingerprint: string
  /** Absolute paths of the source files. A change of one makes the code stale. */
  readonly inputs: readonly string[]
  /** Resolves to the path of the bundle file for isolated instances, or to null if there is no file. Never rejects. */
  readonly bundle: Promise<string | null>
  /** Page modules by name. Default: none. */
  readonly pages?: ReadonlyMap<string, UnitPage>
  instantiate(hooks: InstanceHooks): Instance
}

/** Discovered plugin: a package folder or an inline definition. */
export interface PluginSource {
  readonly name: string
  /** Package folder. */
  readonly location: string
  readonly version: string
  /** Null if the package is broken; `problem` then describes why. */
  readonly manifest: PluginManifest | null
  /** True if the code was never read, so that the manifest has only the name. Absent: false. */
  readonly isSketch?: boolean
  readonly problem: SvcError | null
  /** Last valid manifest of a broken plugin, if known. */
  readonly lapsed: PluginManifest | null
  /** Reads and builds the current code. Runs the plugin's module body, but not `activate`. */
  prepare(): Promise<PreparedCode>
  close(): Promise<void>
}
