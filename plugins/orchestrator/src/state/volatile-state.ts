import type { AgentActivity } from '@svc/contracts'
import type { Staleness } from './agent.ts'
import type { Reasons } from './reasons.ts'
import type { Page } from './trace-book.ts'
import type { World } from './world.ts'

/** State of this process that is in no record, for example workers and histories. */
export interface VolatileState {
  readonly activeAt: number
  readonly saidIdle: boolean
  readonly lastHeartbeatLook: number
  readonly contention: number
  readonly traces: ReadonlyMap<number, Page>
  /** Routing reasons and gate results, by task. */
  readonly reasons: ReadonlyMap<number, Reasons>
  readonly agents: readonly VolatileAgentState[]
}

interface VolatileAgentState {
  readonly id: number
  readonly activity: AgentActivity
  readonly heardAt: number
  readonly isAttended: boolean
  readonly staleness: Staleness
  readonly idleSince: number | null
  readonly continuedAt: number
  readonly leavesLater: boolean
  /** Task that the worker has claimed; null if there is none. */
  readonly current: number | null
}

export function exportVolatileState(world: World): VolatileState {
  const { activeAt, saidIdle, lastHeartbeatLook, locks, traces, agents } = world
  return {
    activeAt,
    saidIdle,
    lastHeartbeatLook,
    contention: locks.contention,
    traces: traces.pages,
    reasons: new Map(
      Array.from(world.tasks.values()).flatMap(({ id, reasons }) => (reasons === null ? [] : [[id, reasons]]))
    ),
    agents: Array.from(agents.values(), agent => {
      const { id, activity, heardAt, isAttended, staleness, idleSince, continuedAt, leavesLater, current } = agent
      const facts = { id, activity, heardAt, isAttended, staleness, idleSince, continuedAt, leavesLater }
      return { ...facts, current: current?.id ?? null }
    })
  }
}

/** Imports the state that is in no record. The records must be imported first. */
export function importVolatileState(world: World, state: VolatileState): void {
  world.activeAt = state.activeAt
  world.saidIdle = state.saidIdle
  world.lastHeartbeatLook = state.lastHeartbeatLook
  world.locks.contention = state.contention
  world.traces.importPages(state.traces)
  for (const [id, reasons] of state.reasons) {
    const task = world.tasks.get(id)
    if (task !== undefined) task.reasons = reasons
  }
  for (const { id, current, ...facts } of state.agents) {
    const agent = world.agents.get(id)
    if (agent === undefined) continue
    Object.assign(agent, facts)
    agent.current = current === null ? null : (world.tasks.get(current) ?? null)
  }
}
