import {
  type Coordination,
  type KernelPort,
  type Orchestrator,
  repositoryTasks,
  type TaskViewSource,
  taskViewSources
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import type { OtherSeats } from '../durable/other-seats.ts'
import type { TrustSettings } from '../policy/trust.ts'
import { JoinedTasks } from './repository-tasks.ts'
import { seatSource } from './seat-source.ts'
import { SeatVerbs } from './seat-verbs.ts'

export interface ViewsOptions {
  readonly orchestrator: Orchestrator
  readonly kernel: KernelPort
  readonly coordination: Coordination | undefined
  /** Returns the other seats of the serving state; null without a database. */
  readonly others: () => OtherSeats | null
  readonly trust: () => TrustSettings
}

/**
 * Provides the view of all tasks of the repository, contributes the other processes on the same database to it, and
 * runs the verbs of these processes while the unit serves.
 */
export function attachViews(ctx: PluginContext, options: ViewsOptions): void {
  const { orchestrator, kernel, coordination, others, trust } = options
  const verbs = new SeatVerbs({
    repositoryId: kernel.repositoryId,
    others,
    store: coordination ?? null,
    kernel,
    log: ctx.log
  })
  ctx.contribute(taskViewSources, seatSource({ others, trust, verbs }), 'tasks of other processes')
  let sources: readonly TaskViewSource[] = []
  ctx.follow(taskViewSources, items => {
    sources = items
  })
  const joined = new JoinedTasks({
    orchestrator,
    seat: () => others()?.own ?? null,
    sources: () => sources,
    log: ctx.log
  })
  ctx.provide(repositoryTasks, joined)
  ctx.onServe('run requests of other processes', () => verbs.start())
  ctx.onDrain('requests of other processes', () => verbs.stop())
}
