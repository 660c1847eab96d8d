import type { AgentActivity } from '@svc/contracts'
import type { Staleness } from './agent.ts'
import type { Reasons } from './reasons.ts'
import type { Page } from './trace-book.ts'
import type { World } from './world.ts'

/** State of this process without records: workers, and the last events. */
export interface Remembered {
  readonly activeAt: number
  readonly saidIdle: boolean
  readonly lastHeartbeatLook: number
  readonly contention: number
  readonly traces: ReadonlyMap<number, Page>
  /** Why tasks went where they went. */
  readonly reasons: ReadonlyMap<number, Reasons>
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
    reasons: new Map(
      Array.from(world.tasks.values()).flatMap(({ id, reasons }) => (reasons === null ? [] : [[id, reasons]]))
    ),
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
  for (const [id, reasons] of left.reasons) {
    const task = world.tasks.get(id)
    if (task !== undefined) task.reasons = reasons
  }
  for (const { id, current, ...facts } of left.agents) {
    const agent = world.agents.get(id)
    if (agent === undefined) continue
    Object.assign(agent, facts)
    agent.current = current === null ? null : (world.tasks.get(current) ?? null)
  }
}
