import type { ThreadConnection } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { SqlActorStore } from '../actors/sql-actor-store.ts'
import type { Durable } from '../interpreter/durable.ts'
import type { Bridge } from '../threads/bridge.ts'
import { SharedWorkflowStore } from './shared-workflow-store.ts'
import { type PlanProvenance, SqlWorkflowStore } from './sql-workflow-store.ts'

/** Options of the storage in a thread. */
export interface DurableOptions {
  /** Owner of runs and actors, which programs in the same database do not share. */
  readonly program: string
  /** Session of the journal rows in research_metrics: `workflow:<repository>`. null to write none. */
  readonly metricSession: string | null
  /** The plan that the runs belong to; none by default. */
  readonly plan?: PlanProvenance
  /** True if the runs are on a server that other hosts share; actors stay in the database of the program. */
  readonly isShared?: boolean
}

/** Returns the storage for a program with a database, in one of its threads. `notify` is null without a scheduler. */
export function databaseDurable(
  connection: ThreadConnection,
  options: DurableOptions,
  sleep: (duration: number) => void,
  notify: (() => void) | null,
  bridge: Bridge | null = null
): Durable {
  const { program, metricSession, plan, isShared } = options
  return {
    workflows:
      isShared && bridge !== null
        ? new SharedWorkflowStore(connection, bridge, options)
        : new SqlWorkflowStore(connection, {
            program,
            metricSession,
            copiesMetrics: notify !== null,
            ...defined({ plan })
          }),
    actors: new SqlActorStore(connection, program),
    now: Date.now,
    sleep,
    skipsTime: false,
    endsWithProgram: false,
    notify
  }
}
