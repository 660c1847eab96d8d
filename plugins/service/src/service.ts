/** Description of a service, independent of the service manager. */
export interface ServiceSpec {
  readonly name: string
  /** Whether it belongs to a user's session manager instead of the system's. */
  readonly user: boolean
  /** Absolute path of the Node.js binary. */
  readonly node: string
  /** Absolute path of svc's program. */
  readonly program: string
  /** Absolute path of the project. */
  readonly project: string
  readonly profile?: string
  /** User that runs a service of the system. */
  readonly runAs?: Account
  /** `NAME:FILE`. */
  readonly credentials: readonly string[]
  /** Absolute size such as `8G`, or a percentage of the machine's memory. */
  readonly memoryMax: string
  readonly gpu: boolean
}

export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  readonly home: string
}

/** Longest time in seconds that svc needs to stop: plugins have 30 s to drain and 30 s to be disposed. */
export const STOP_SECONDS = 75

/** Line that each written file has, so that no file of another program is replaced or removed. */
export const MARK = 'Written by svc service install'

/** State of a service, as its manager reports it. */
export interface ServiceState {
  /** As systemd names it, such as `active` or `failed`; for launchd `active`, `inactive` or `failed`. */
  readonly state: string
  readonly enabled: boolean
  readonly pid: number | null
  /** Number of automatic restarts; null if the manager does not count them. */
  readonly restarts: number | null
  /** Bytes in memory; null if unknown. */
  readonly memoryBytes: number | null
}

/** Service manager of a system, for one service. */
export interface ServiceManager {
  readonly kind: 'systemd' | 'launchd'
  /** Path of the file that defines the service. */
  readonly file: string
  /** Returns the text of the file. */
  render(spec: ServiceSpec): string
  /** Makes the written file known, and starts the service if requested. */
  enable(start: boolean): Promise<void>
  /** Stops the service, before its file is removed. */
  disable(): Promise<void>
  /** Forgets a removed file. */
  forget(): Promise<void>
  state(): Promise<ServiceState>
  /** Commands for the log and for what else a user may need, with their purpose. */
  hints(spec: {
    readonly user: boolean
    readonly name: string
  }): readonly (readonly [purpose: string, command: string])[]
}

/** Command line that serves the project. */
export function commandOf({ node, program, profile }: ServiceSpec): string[] {
  return [node, program, 'serve', ...(profile === undefined ? [] : ['--profile', profile])]
}
