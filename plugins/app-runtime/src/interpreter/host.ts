import type { WorkflowStep } from '@svc/contracts'
import type { ProgramDatabase } from '../database/program-database.ts'
import type { Bridge } from '../threads/bridge.ts'
import type { MeshStep } from '../workflows/mesh-steps.ts'
import type { Durable } from './durable.ts'

/** Capabilities of a program beyond computation. */
export type Capability = 'fs' | 'process' | 'env' | 'net' | 'browser' | 'secrets'

export const CAPABILITIES: readonly Capability[] = ['fs', 'process', 'env', 'net', 'browser', 'secrets']

/** Further values of a log line, as plain JSON. */
export type LogFields = Readonly<Record<string, unknown>>

/** Line that a program printed or logged. */
export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  readonly text: string
  readonly fields?: LogFields
}

/** The outside world of a program. All calls are synchronous. */
export interface Host {
  /** Prints a line, passed without a line break. */
  print(line: string): void
  log(line: LogLine): void
  /** Milliseconds since 1970. */
  now(): number
  /** At least 0, below 1. */
  random(): number
  /** Arguments after the file name. */
  readonly args: readonly string[]
  readonly capabilities: ReadonlySet<Capability>
  /** Called before each external effect: a request, a process, a file. */
  readonly onEffect?: () => void
  /** Milliseconds. */
  sleep(duration: number): void
  /** Stores workflows and actors; without a store they end with the program. */
  readonly durable?: Durable | null
  /** Called after a step of a run is committed; absent in tests of programs. */
  readonly stepped?: (step: WorkflowStep) => void
  /** Called after any other change of a run is committed. */
  readonly runChanged?: () => void
  /** Called after a step for the mesh was stored with its run. Absent without a mesh: the step then runs here. */
  readonly meshStep?: (step: MeshStep) => void
  /** Requests to the main thread; null if there is none. */
  readonly bridge: Bridge | null
  /** null for a program without a database. */
  readonly database: ProgramDatabase | null
  /** Cleanup at the end of the program; null for a served one. */
  readonly ending: (() => void)[] | null
}

/** Thrown by `std.process.exit` to end a program. */
export class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}
