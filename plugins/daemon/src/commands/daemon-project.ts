/** The project of a daemon command, as this process sees it. */
export interface DaemonProject {
  readonly root: string
  readonly repositoryId: string
  /** Of this process. */
  readonly version: string
  readonly socket: string
  /** Plugins to run, with their dependencies; empty means all. */
  readonly only: readonly string[]
  readonly logMaxBytes: number
  readonly logFiles: number
}
