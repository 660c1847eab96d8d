import { relative, resolve } from 'node:path'
import type { DatabaseStore, KernelAdmin, Program } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { type Endpoint, isDurable } from '../serving/endpoints.ts'
import type { ProgramPool } from '../serving/program-pool.ts'
import type { Settings } from '../settings.ts'
import type { DurableOptions } from './database-durable.ts'
import { DurableScheduler } from './scheduler.ts'

/** What the threads of a program keep its runs and actors by; null for a program that has neither. */
export function durableOptions(
  { module, path }: Program,
  { projectRoot, config }: Pick<PluginContext<Settings>, 'projectRoot' | 'config'>,
  admin: KernelAdmin | undefined
): DurableOptions | null {
  if (!isDurable(module)) return null
  const told = admin?.settings('kernel.repository_id').find(({ key }) => key === 'kernel.repository_id')?.value
  const repository = typeof told === 'string' ? told : 'default'
  return {
    program: programKey(path, projectRoot),
    metricSession: config.workflow_journal_off ? null : `workflow:${repository}`
  }
}

/** How runs and actors name their program: the same from wherever it is run. */
function programKey(path: string, projectRoot: string): string {
  return relative(projectRoot, resolve(path)).replaceAll('\\', '/')
}

/**
 * Has runs go on and messages handled for as long as a program is served, also those that an earlier process has left.
 * Throws what the store throws.
 */
export async function lookAfterDue(
  { ctx, store, pool, endpoints, threads }: Served,
  options: DurableOptions | null
): Promise<DurableScheduler | null> {
  const due = endpoints.findIndex(({ kind }) => kind === 'due')
  if (options === null || due < 0) return null
  const { program } = options
  const scheduler = await DurableScheduler.start({
    store,
    program,
    log: ctx.log,
    // The others are for whoever waits for an answer.
    atOnce: Math.max(1, Math.floor(threads / 2)),
    perform: work => pool.ask(due, JSON.stringify(work))
  })
  ctx.effect(`runs and messages of ${program}`, () => scheduler.close())
  return scheduler
}

interface Served {
  readonly ctx: PluginContext<Settings>
  readonly store: DatabaseStore
  readonly pool: ProgramPool
  readonly endpoints: readonly Endpoint[]
  /** That the pool may have. */
  readonly threads: number
}
