/** The project whose daemon a command is about, as this process sees it. */
export interface Place {
  readonly root: string
  readonly repositoryId: string
  /** Of this process. */
  readonly version: string
  readonly socket: string
  /** Plugins that the daemon runs, with what they need; none: all. */
  readonly only: readonly string[]
  readonly logMaxBytes: number
  readonly logFiles: number
}
