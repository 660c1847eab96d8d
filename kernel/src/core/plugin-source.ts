import type { Disposer, Plugin, PluginManifest, SvcError } from '@svc/plugin-sdk'

/** Events of one instance of a plugin's code. */
export interface InstanceHooks {
  effect(label: string, dispose: Disposer): Disposer
  /** Something that the plugin opened and did not close. */
  onLeak(description: string): void
  /** An error thrown where no caller can catch it: a timer, a listener. */
  onError(error: unknown): void
}

export interface Instance {
  readonly plugin: Plugin
  /** Runs an opener whose resources are not tracked as this instance's own. */
  adopt<A>(open: () => A): A
}

/** Code that is ready to be instantiated any number of times. */
export interface PreparedCode {
  readonly manifest: PluginManifest
  /** Differs when the code differs. */
  readonly fingerprint: string
  /** Files whose change makes this code stale; absolute paths. */
  readonly inputs: readonly string[]
  /**
   * Resolves to the path of the bundle for isolated instances once it is written; null without a file. Never rejects.
   */
  readonly bundle: Promise<string | null>
  instantiate(hooks: InstanceHooks): Instance
}

/** One discovered plugin, whatever its form. */
export interface PluginSource {
  readonly name: string
  /** Package folder. */
  readonly location: string
  readonly version: string
  /** Null when the package is broken; then `problem` says how. */
  readonly manifest: PluginManifest | null
  readonly problem: SvcError | null
  /** While it is broken: its last valid declaration, if known. */
  readonly lapsed: PluginManifest | null
  /** Reads and builds the code as it is on disk now; runs only the plugin's module body. */
  prepare(): Promise<PreparedCode>
  close(): Promise<void>
}
