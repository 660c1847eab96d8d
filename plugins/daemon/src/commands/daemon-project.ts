/** Project and settings that a daemon command uses. */
export interface DaemonProject {
  readonly root: string
  readonly repositoryId: string
  /** Version of this process. */
  readonly version: string
  readonly socket: string
  /** Plugins to run, with their requirements. Empty: all enabled plugins. */
  readonly only: readonly string[]
  readonly logMaxBytes: number
  readonly logFiles: number
}
