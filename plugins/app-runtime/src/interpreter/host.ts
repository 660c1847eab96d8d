import type { WorkflowStep } from '@svc/contracts'
import type { ProgramDatabase } from '../database/program-database.ts'
import type { Bridge } from '../threads/bridge.ts'
import type { Durable } from './durable.ts'

/** Capabilities of a program beyond calculating. */
export type Capability = 'fs' | 'process' | 'env' | 'net' | 'browser' | 'secrets'

export const CAPABILITIES: readonly Capability[] = ['fs', 'process', 'env', 'net', 'browser', 'secrets']

/** The world, as a program meets it. Every call returns before the program goes on. */
export interface Host {
  /** A line of output, without its end. */
  print(line: string): void
  log(level: 'debug' | 'info' | 'warn' | 'error', text: string): void
  /** Milliseconds since 1970. */
  now(): number
  /** At least 0, below 1. */
  random(): number
  /** Arguments behind the name of the file. */
  readonly args: readonly string[]
  readonly capabilities: ReadonlySet<Capability>
  /** Called before each act outside of the program and its database: a request, a process, a file. */
  readonly onEffect?: () => void
  /** Milliseconds. */
  sleep(duration: number): void
  /** Keeps workflows and actors; without it they end with the program. */
  readonly durable?: Durable | null
  /** Called after a step of a run is committed; absent in tests of programs. */
  readonly stepped?: (step: WorkflowStep) => void
  /** How the main thread is asked; null where there is none. */
  readonly bridge: Bridge | null
  /** null where the program has none. */
  readonly database: ProgramDatabase | null
  /** Cleanup when the program has ended; null for one that is served and does not end. */
  readonly ending: (() => void)[] | null
}

/** Ends a program that is not served, from any place. */
export class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}
