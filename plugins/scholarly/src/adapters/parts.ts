import type { Logger } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'

/** Services of the plugin for its built-in adapters. */
export interface AdapterParts {
  /** Returns the current settings; some change while the plugin runs. */
  settings(): Settings
  /**
   * Returns a credential: the setting if it is set, else the declared secret of this variable from the resolver, else
   * null. Throws `RemoteFailure` with class `config` if the resolver fails.
   */
  secret(setting: string | undefined, variable: string, signal?: AbortSignal): Promise<string | null>
  /** Returns the folder of this plugin's data in the project. */
  dataDirectory(): Promise<string>
  /** Folder that relative paths in settings refer to. */
  readonly projectRoot: string
  readonly log: Logger
}
