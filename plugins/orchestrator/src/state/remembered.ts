import type { AgentActivity } from '@svc/contracts'
import type { Staleness } from './agent.ts'
import type { Page } from './trace-book.ts'
import type { World } from './world.ts'

/** What no record keeps, since it is about this process: who is there, and what happened last. */
export interface Remembered {
  readonly activeAt: number
  readonly saidIdle: boolean
  readonly lastHeartbeatLook: number
  readonly contention: number
  readonly traces: ReadonlyMap<number, Page>
  readonly agents: readonly RememberedAgent[]
}

interface RememberedAgent {
  readonly id: number
  readonly activity: AgentActivity
  readonly heardAt: number
  readonly isAttended: boolean
  readonly staleness: Staleness
  readonly idleSince: number | null
  readonly continuedAt: number
  /** Task that its worker has. */
  readonly current: number | null
}

export function remembered(world: World): Remembered {
  const { activeAt, saidIdle, lastHeartbeatLook, locks, traces, agents } = world
  return {
    activeAt,
    saidIdle,
    lastHeartbeatLook,
    contention: locks.contention,
    traces: traces.pages,
    agents: Array.from(agents.values(), agent => {
      const { id, activity, heardAt, isAttended, staleness, idleSince, continuedAt, current } = agent
      return { id, activity, heardAt, isAttended, staleness, idleSince, continuedAt, current: current?.id ?? null }
    })
  }
}

/** After the records were taken up. */
export function recall(world: World, left: Remembered): void {
  world.activeAt = left.activeAt
  world.saidIdle = left.saidIdle
  world.lastHeartbeatLook = left.lastHeartbeatLook
  world.locks.contention = left.contention
  world.traces.recall(left.traces)
  for (const { id, current, ...facts } of left.agents) {
    const agent = world.agents.get(id)
    if (agent === undefined) continue
    Object.assign(agent, facts)
    agent.current = current === null ? null : (world.tasks.get(current) ?? null)
  }
}
