import type { ActorStore } from '../actors/actor-store.ts'
import type { WorkflowStore } from '../workflows/workflow-store.ts'

/** Storage of a program's workflow runs and actors. */
export interface Durable {
  readonly workflows: WorkflowStore
  readonly actors: ActorStore
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds. */
  sleep(duration: number): void
  /** True if sleeping only advances the clock: in tests of programs. */
  readonly skipsTime: boolean
  /** True if the runs are in memory, so that none outlives the program. */
  readonly endsWithProgram: boolean
  /** Called when a message is sent or a run is started. null without a scheduler: the program does the work itself. */
  readonly notify: (() => void) | null
}
