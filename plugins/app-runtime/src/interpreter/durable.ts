import type { ActorStore } from '../actors/actor-store.ts'
import type { WorkflowStore } from '../workflows/workflow-store.ts'

/** Where the runs of a program's workflows and its actors are kept. */
export interface Durable {
  readonly workflows: WorkflowStore
  readonly actors: ActorStore
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds. */
  sleep(duration: number): void
  /** Whether sleeping only says that time has passed: in tests of programs. */
  readonly skipsTime: boolean
  /**
   * Called when work is due: a message, or a started run. null without a scheduler, so that the
   * program does it itself before it ends.
   */
  readonly notify: (() => void) | null
}
