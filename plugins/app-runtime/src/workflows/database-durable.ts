import type { ThreadConnection } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { SqlActorStore } from '../actors/sql-actor-store.ts'
import type { Durable } from '../interpreter/durable.ts'
import { type PlanProvenance, SqlWorkflowStore } from './sql-workflow-store.ts'

/** Storage options of a thread. */
export interface DurableOptions {
  /** Owner of runs and actors: programs in one database do not share them. */
  readonly program: string
  /** Session of the rows `workflow_journal_entry` in research_metrics: `workflow:<repository>`. null writes none. */
  readonly metricSession: string | null
  /** The plan of the runs; none by default. */
  readonly plan?: PlanProvenance
}

/** Storage for a program with a database, in one of its threads; `notify` is null without a scheduler. */
export function databaseDurable(
  connection: ThreadConnection,
  { program, metricSession, plan }: DurableOptions,
  sleep: (duration: number) => void,
  notify: (() => void) | null
): Durable {
  return {
    workflows: new SqlWorkflowStore(connection, { program, metricSession, ...defined({ plan }) }),
    actors: new SqlActorStore(connection, program),
    now: Date.now,
    sleep,
    skipsTime: false,
    notify
  }
}
