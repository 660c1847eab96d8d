import type { Staleness } from './agent.ts'
import { retire, spawnAs } from './agents.ts'
import type { StateChanges } from './changes.ts'
import { endTask } from './endings.ts'
import { dropLock } from './files.ts'
import { heldTaskOf, watchHolds } from './holds.ts'
import { agentLoads, evacuate, rebalance } from './moves.ts'
import { CANCELLED } from './status.ts'
import { submit } from './submit.ts'
import type { World } from './world.ts'

/** Levels by the number of consecutive missed heartbeats, highest first. */
const STALE: readonly (readonly [missed: number, level: Staleness])[] = [
  [10, 'dead'],
  [5, 'critical'],
  [3, 'alert'],
  [1, 'warn']
]
const ORDER: readonly Staleness[] = ['fresh', 'warn', 'alert', 'critical', 'dead']

/** Runs the periodic work, called once a second. An error of one part goes to `report`; the other parts still run. */
export function tick(world: World, changes: StateChanges, report: (duty: string, error: unknown) => void): void {
  const duties: Readonly<Record<string, () => void>> = {
    'results of other machines': () => watchHolds(world, changes),
    'release of stale locks': () => releaseStaleLocks(world, changes),
    'expiry of waiting tasks': () => expire(world, changes),
    'heartbeat check': () => checkHeartbeats(world, changes),
    scaling: () => scale(world, changes),
    'continuation of idle agents': () => continueWork(world, changes),
    'idleness report': () => reportIdle(world, changes),
    'reliability rows': () => rate(world, changes)
  }
  for (const [duty, run] of Object.entries(duties)) {
    try {
      run()
    } catch (error) {
      report(duty, error)
    }
  }
}

function releaseStaleLocks(world: World, changes: StateChanges): void {
  const before = world.deps.now() - world.deps.settings().lock_timeout_ms
  for (const { path, holders } of [...world.locks.heldSince(before)])
    for (const agent of holders) dropLock(world, changes, path, agent)
}

function expire(world: World, changes: StateChanges): void {
  const { task_timeout_ms: limit } = world.deps.settings()
  const before = world.deps.now() - limit
  const reason = `no agent started it within ${Math.round(limit / 1_000)} s (plugins.orchestrator.task_timeout_ms); submit it again`
  for (const agent of world.agents.values()) {
    for (const task of agent.queue.waitingSince(before)) {
      // The expiry of one task also ends the tasks that depend on it.
      if (task.status.kind === 'Queued') endTask(world, changes, task, CANCELLED, reason, 'expired')
    }
  }
}

function checkHeartbeats(world: World, changes: StateChanges): void {
  const now = world.deps.now()
  const { heartbeat_interval_ms, stale_threshold_ms } = world.deps.settings()
  if (now - world.lastHeartbeatLook < heartbeat_interval_ms) return
  world.lastHeartbeatLook = now
  for (const agent of [...world.agents.values()]) {
    const missed = Math.floor(Math.max(0, now - agent.heardAt) / stale_threshold_ms)
    const level = STALE.find(([min]) => missed >= min)?.[1] ?? 'fresh'
    const isWorse = ORDER.indexOf(level) > ORDER.indexOf(agent.staleness)
    agent.staleness = level
    if (isWorse) changes.event({ type: 'agent_idle', agent_id: agent.id, level })
    if (level !== 'dead' || !agent.dynamic || !(isWorse || agent.leavesLater)) continue
    // Tasks on other machines must not move, so the agent stays until they have ended.
    agent.leavesLater = heldTaskOf(world, agent) !== null
    if (!agent.leavesLater && evacuate(world, changes, agent)) retire(world, changes, agent.id)
  }
}

function scale(world: World, changes: StateChanges): void {
  const { deps } = world
  const isCritical = Array.from(world.agents.keys()).some(agent => {
    const signal = deps.budgets.signal(agent)
    return signal === 'CostExceeded' || signal === 'Critical'
  })
  const { spawn, retire: idle, rebalanceUrgent } = deps.scaler.tick(deps.now(), agentLoads(world), isCritical)
  const { max_agents } = deps.settings()
  for (const name of spawn) {
    if (world.agents.size >= max_agents) break
    spawnAs(world, changes, { id: deps.ids.agent(), name, dynamic: true, reason: 'scale_up' })
  }
  for (const id of idle) {
    const agent = world.agents.get(id)
    if (agent !== undefined && !agent.hasWork && agent.parked.size === 0) retire(world, changes, id)
  }
  if (!rebalanceUrgent && spawn.length === 0) return
  const moved = rebalance(world, changes)
  if (rebalanceUrgent) changes.event({ type: 'urgent_rebalance_triggered', moved })
}

/** Submits a task to each idle agent with a worker: to look for remaining work. */
function continueWork(world: World, changes: StateChanges): void {
  const { deps } = world
  const settings = deps.settings()
  if (!settings.auto_continue_enabled || !settings.enabled || world.stopped !== null) return
  const now = deps.now()
  for (const agent of [...world.agents.values()]) {
    const { idleSince } = agent
    if (agent.paused || agent.hasWork || agent.parked.size > 0 || idleSince === null) continue
    if (!agent.isAttended || agent.staleness !== 'fresh' || agent.completed === 0) continue
    if (agent.continuations >= settings.max_auto_continuations) continue
    if (now - Math.max(agent.continuedAt, idleSince) < settings.continuation_cooldown_ms) continue
    const count = agent.continuations + 1
    agent.continuedAt = now
    // Every submit resets the count, so it is restored below.
    submit(world, changes, {
      description: `[Auto-Continuation] Review the recent work of ${agent.name}, and complete what remains.`,
      files: [],
      priority: 'Background',
      agent_name: agent.name
    })
    agent.continuations = count
    changes.touch('agent', agent.id)
    changes.event({ type: 'continuation_triggered', agent_id: agent.id, strategy: 'review_recent_work' })
  }
}

/** Writes the reliability of agents as rows for readers of the database; the process itself uses the trust records. */
function rate(world: World, changes: StateChanges): void {
  for (const agent of world.rated) {
    const { reliability, outcomes } = world.deps.trust.of(agent)
    const success_count = Math.round(reliability * (outcomes + 2)) - 1
    changes.rows.push({
      table: 'agent_reliability',
      values: {
        agent_id: String(agent),
        reliability,
        success_count,
        failure_count: outcomes - success_count,
        updated_at_ms: world.deps.now()
      },
      replaces: true
    })
  }
  world.rated.clear()
}

function reportIdle(world: World, changes: StateChanges): void {
  const idle = Math.max(0, world.deps.now() - world.activeAt)
  const isBusy = world.counts.InProgress > 0 || world.counts.Queued > 0
  if (world.saidIdle || isBusy || idle < world.deps.settings().idle_timeout_ms) return
  world.saidIdle = true
  changes.event({ type: 'orchestrator_idle', idle_ms: idle })
}
