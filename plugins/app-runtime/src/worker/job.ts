import type { Program, WorkflowStep } from '@svc/contracts'
import type { ErrorPlace } from '@svc/plugin-sdk'
import type { DatabaseAccess } from '../database/access.ts'
import type { RunErrorCode } from '../errors.ts'
import type { Capability, LogLine } from '../interpreter/host.ts'
import type { Limits } from '../interpreter/machine.ts'
import type { TableRows } from '../playground/read-tables.ts'
import type { TestResult } from '../testing/run-tests.ts'
import type { BridgeEnd } from '../threads/bridge.ts'
import type { DurableOptions } from '../workflows/database-durable.ts'
import type { ReplayOutcome } from '../workflows/perform-replay.ts'
import type { RecordedRun } from '../workflows/replay-store.ts'

/** Input of a program's thread. */
export interface Job {
  readonly program: Program
  readonly limits: Limits
  readonly capabilities: readonly Capability[]
  /** Seed of the random numbers; null for unpredictable ones. */
  readonly seed: number | null
  readonly args: readonly string[]
  /** Characters of output after which lines are no longer sent; default: all are. */
  readonly maxOutput?: number
  readonly work: RunWork | PlayWork | TestWork | WorkflowWork | ReplayWork
  /** Load of the lines that are not read yet, of an `OutputGate`. */
  readonly unwritten: SharedArrayBuffer
  readonly bridge: BridgeEnd
  /** null if the program has no database. */
  readonly database: DatabaseAccess | null
  /** Storage of workflow runs and actors. Without it, or without a database, they end with the program. */
  readonly durable?: DurableOptions | null
}

export interface RunWork {
  readonly kind: 'run'
}

/** Run in the playground: its database is empty, and its tables are read at the end. */
export interface PlayWork {
  readonly kind: 'play'
}

export interface WorkflowWork {
  readonly kind: 'workflow'
  readonly name: string
  /** Arguments as JSON: an object by parameter name, or an array. */
  readonly args: string
  readonly runId: string
}

/** Replay of a run against its history, without effects. */
export interface ReplayWork {
  readonly kind: 'replay'
  readonly runId: string
  /** The run and its child runs. */
  readonly runs: readonly RecordedRun[]
}

export interface TestWork {
  readonly kind: 'test'
  readonly names: readonly string[]
  readonly iterations: number
  readonly seed: number
}

/** Messages from the thread. */
export type JobEvent =
  /** The time limit starts here. */
  | { readonly kind: 'begun' }
  | { readonly kind: 'print'; readonly text: string }
  | ({ readonly kind: 'log' } & LogLine)
  | { readonly kind: 'test'; readonly result: TestResult }
  /** A step of a workflow run was committed. */
  | { readonly kind: 'step'; readonly step: WorkflowStep }
  | { readonly kind: 'done'; readonly outcome: RunOutcome }
  | { readonly kind: 'failed'; readonly failure: RunFailure }

export interface RunOutcome {
  /** Content of the Error that main returned. */
  readonly refused: string | null
  /** Exit code chosen by the program. */
  readonly exit: number | null
  /** Result of a workflow, as JSON; of a run in the playground, as text. */
  readonly result?: string
  readonly play?: PlayEnd
  readonly replay?: ReplayOutcome
}

/** Result of a run in the playground. */
export interface PlayEnd {
  readonly failure: RunFailure | null
  /** null if they cannot be read: the process of the database was ended. */
  readonly tables: readonly TableRows[] | null
}

export interface RunFailure {
  readonly code: RunErrorCode
  readonly message: string
  readonly hint?: string
  readonly at?: ErrorPlace
  readonly calls: readonly string[]
}
