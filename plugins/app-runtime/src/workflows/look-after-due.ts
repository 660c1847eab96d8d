import { relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DatabaseStore, KernelAdmin, Program, SharedWorkflowRuns } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { SYSTEM_TEXT } from '../interpreter/request.ts'
import { type Endpoint, isDurable } from '../serving/endpoints.ts'
import type { ProgramPool } from '../serving/program-pool.ts'
import type { Settings } from '../settings.ts'
import type { DurableOptions } from './database-durable.ts'
import { boundsOf, pruneRuns, type Retention } from './prune.ts'
import { countStarts } from './run-outbox.ts'
import { DurableScheduler } from './scheduler.ts'
import { WORKFLOWS_TOPIC } from './topic.ts'

/** Delay of the first pruning and interval of the next ones, in milliseconds. */
const FIRST_PRUNE_MS = 10_000
const PRUNE_MS = 600_000

/** Returns the storage options of a program; null if it has no workflows, actors or agents. */
export function durableOptions(
  program: Program,
  { projectRoot, config }: Pick<PluginContext<Settings>, 'projectRoot' | 'config'>,
  admin: KernelAdmin | undefined
): DurableOptions | null {
  if (!isDurable(program)) return null
  const repository = repositoryOf(admin)
  const { plan_session_id: session, plan_node_id: node, plan_version: version } = config
  return {
    isShared: config.durable_store === 'coordination',
    plan: { session: session ?? null, node: node ?? null, version: version ?? null },
    program: programKey(program.path, projectRoot),
    metricSession: config.workflow_journal_off ? null : `workflow:${repository}`
  }
}

/** Returns the id of the repository. */
export function repositoryOf(admin: KernelAdmin | undefined): string {
  const configured = admin?.settings('kernel.repository_id').find(({ key }) => key === 'kernel.repository_id')?.value
  return typeof configured === 'string' ? configured : 'default'
}

/** Returns the retention of runs from the settings. */
export function retentionOf({ workflow_keep_runs: runs, workflow_keep_days: days }: Settings): Retention {
  return { runs, days }
}

/** Returns the name of a program as owner of runs and actors: its path in the project, with slashes. */
export function programKey(path: string, projectRoot: string): string {
  return relative(projectRoot, resolve(path)).replaceAll('\\', '/')
}

/**
 * Resumes runs, handles messages and prunes old runs while a program is served, including those of an earlier process.
 * Throws the errors of the store.
 */
export async function lookAfterDue(
  { ctx, store, shared, pool, endpoints, threads }: Served,
  options: DurableOptions | null
): Promise<DurableScheduler | null> {
  const due = endpoints.findIndex(({ kind }) => kind === 'due')
  if (options === null || due < 0) return null
  const { program, metricSession } = options
  const scheduler = await DurableScheduler.start({
    store,
    shared,
    program,
    // With a shared store, a host stores only the entries of the turns that it performed.
    metricSession: shared === null ? metricSession : null,
    log: ctx.log,
    onChange: () => ctx.changed(WORKFLOWS_TOPIC),
    // The other threads remain free for callers.
    atOnce: Math.max(1, Math.floor(threads / 2)),
    perform: work => pool.ask(due, JSON.stringify(work), SYSTEM_TEXT)
  })
  if (shared !== null) {
    const { rows } = await store.query(UNFINISHED_RUNS, [program])
    const count = Number(rows[0]?.[0])
    if (count > 0)
      ctx.log.warn(`${count} unfinished runs of ${program} are in ${store.location}, and do not continue`, {
        hint: 'set durable_store = "database" in [plugins.app-runtime] until they have ended'
      })
  } else {
    const count = await countStarts(store, program)
    if (count > 0)
      ctx.log.warn(`${count} runs of ${program} are to be started on the server of [coordination], and do not start`, {
        hint: 'set durable_store = "coordination" in [plugins.app-runtime] until they have started'
      })
  }
  ctx.effect(`runs and messages of ${program}`, () => scheduler.close())
  ctx.background(`old runs of ${program}`, async signal => {
    for (let wait = FIRST_PRUNE_MS; !signal.aborted; wait = PRUNE_MS) {
      await sleep(wait, undefined, { signal, ref: false }).catch(() => undefined)
      if (signal.aborted) return
      const retention = retentionOf(ctx.config)
      const pruned =
        shared === null
          ? pruneRuns(store, program, retention)
          : shared.prune({ program, ...boundsOf(retention, Date.now()), dryRun: false })
      const deleted = await pruned.catch((error: unknown) => {
        ctx.log.warn(`old runs of ${program} were not deleted`, { error })
        return 0
      })
      if (deleted > 0) ctx.changed(WORKFLOWS_TOPIC)
    }
  })
  return scheduler
}

const UNFINISHED_RUNS = `SELECT count(*) FROM workflow_run_state s JOIN workflow_run_log r ON r.run_id = s.run_id
  WHERE s.program = ? AND r.status IN ('pending', 'running', 'waiting')`

interface Served {
  readonly ctx: PluginContext<Settings>
  readonly store: DatabaseStore
  /** Runs on a server that other hosts share; null: they are in `store`. */
  readonly shared: SharedWorkflowRuns | null
  readonly pool: ProgramPool
  readonly endpoints: readonly Endpoint[]
  /** Maximum threads of the pool. */
  readonly threads: number
}
