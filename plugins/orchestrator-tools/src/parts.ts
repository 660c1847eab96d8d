import type {
  A2aBus,
  AgentFleet,
  ContextStore,
  DatabaseStore,
  KernelAdmin,
  KernelPort,
  Orchestrator,
  SessionContext
} from '@svc/contracts'
import type { Handler, Operation, PluginContext, Ref } from '@svc/plugin-sdk'
import type { DaemonPilot } from './pilot/daemon-pilot.ts'

/** What the operations stand on. */
export interface Parts {
  readonly orchestrator: Orchestrator
  readonly port: KernelPort
  readonly pilot: DaemonPilot
  readonly ctx: Pick<PluginContext, 'trigger'>
  readonly sessions: SessionContext | undefined
  readonly context: ContextStore | undefined
  readonly admin: KernelAdmin | undefined
  readonly fleet: Ref<AgentFleet> | undefined
  readonly bus: Ref<A2aBus> | undefined
  readonly database: Ref<DatabaseStore> | undefined
}

/** An operation with what makes its handler. */
export interface Bound {
  readonly operation: Operation
  implement(ctx: PluginContext, parts: Parts): void
}

export function bound<Op extends Operation>(operation: Op, handler: (parts: Parts) => Handler<Op>): Bound {
  return { operation, implement: (ctx, parts) => ctx.implement(operation, handler(parts)) }
}

/** What serves now; undefined where nothing does, also while a plugin that is there serves nothing. */
export function current<A>(reference: Ref<A> | undefined): A | undefined {
  try {
    return reference?.current
  } catch {
    return undefined
  }
}
