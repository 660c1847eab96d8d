import {
  type A2aBus,
  type AgentFleet,
  type ContextStore,
  type DatabaseStore,
  type KernelAdmin,
  type KernelPort,
  type Orchestrator,
  type RepositoryTasks,
  SEAT_SURFACE,
  type SessionContext,
  type StatusSection
} from '@svc/contracts'
import type { Call, Handler, Operation, PluginContext, Ref } from '@svc/plugin-sdk'
import type { StateFeeds } from './feeds/state-feeds.ts'
import type { DaemonPilot } from './pilot/daemon-pilot.ts'

/** Services that the operations use. */
export interface Dependencies {
  /** Sends writes to the daemon of the repository if the settings say so. */
  readonly orchestrator: Orchestrator
  /** The orchestrator of this process, for the daemon's own methods. */
  readonly local: Orchestrator
  /** Tasks of all processes of the repository. */
  readonly tasks: Ref<RepositoryTasks>
  readonly port: KernelPort
  readonly pilot: DaemonPilot
  /** Rows of tasks and agents of all processes. */
  readonly feeds: StateFeeds
  /** Contributed sections of the status. */
  readonly sections: () => readonly StatusSection[]
  readonly sessions: SessionContext | undefined
  readonly context: ContextStore | undefined
  readonly admin: KernelAdmin | undefined
  readonly fleet: Ref<AgentFleet> | undefined
  readonly bus: Ref<A2aBus> | undefined
  readonly database: Ref<DatabaseStore> | undefined
}

/**
 * Returns the orchestrator for a call. A call over RPC has already reached the daemon, and a call of another process the
 * holder of the task, so they run in this process; other calls may go to the daemon.
 */
export function orchestratorOf(
  { orchestrator, local }: Dependencies,
  { surface }: Pick<Call, 'surface'>
): Orchestrator {
  return surface === 'rpc' || surface === SEAT_SURFACE ? local : orchestrator
}

/** An operation and the factory of its handler. */
export interface Bound {
  readonly operation: Operation
  implement(ctx: PluginContext, dependencies: Dependencies): void
}

export function bound<Op extends Operation>(
  operation: Op,
  handler: (dependencies: Dependencies) => Handler<Op>
): Bound {
  return { operation, implement: (ctx, dependencies) => ctx.implement(operation, handler(dependencies)) }
}
