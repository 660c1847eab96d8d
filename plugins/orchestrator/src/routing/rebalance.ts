import type { FileAffinity } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import type { AgentLoad, MovableTask, Move, PlanRebalance, RebalanceWorld } from '../state/ports.ts'
import { penaltyOf } from './fitness.ts'

/** An agent is overloaded if its load exceeds the mean by more than this. */
const TOLERANCE = 2

/** Maximum queued tasks of one agent that are examined. */
const MAX_EXAMINED = 1_000

/** An agent, and its load after the moves planned so far. */
interface Loaded {
  readonly agent: AgentLoad
  load: number
}

/**
 * Returns a planner that moves queued tasks from overloaded agents (load more than 2 above the mean) to agents below the
 * mean. It moves one task per pair of agents: the least urgent one whose files no other agent has locked.
 *
 * The most loaded source and the least loaded target come first; with `economy`, the target with the cheapest model. A
 * task is not moved to a paused or less fit agent, or if the target's load would reach that of the source.
 */
export function rebalancer(settings: () => Pick<Settings, 'cost_preference'>): PlanRebalance {
  return world => {
    const isEconomic = settings().cost_preference === 'economy'
    const mean = world.agents.reduce((sum, { weighted_load }) => sum + weighted_load, 0) / world.agents.length
    const loaded = world.agents.map((agent): Loaded => ({ agent, load: agent.weighted_load }))
    const over = loaded.filter(({ load }) => load > mean + TOLERANCE).sort((a, b) => b.load - a.load || byId(a, b))
    const under = loaded.filter(({ agent, load }) => load < mean && !agent.paused)
    under.sort((a, b) => (isEconomic ? byCost(a, b) : 0) || a.load - b.load || byId(a, b))
    return over.flatMap(from => movesFrom(world, from, under))
  }
}

function movesFrom(world: RebalanceWorld, from: Loaded, under: readonly Loaded[]): Move[] {
  const moves: Move[] = []
  const free = freeTasks(world, from.agent.id)
  for (const to of under) {
    const index = free.findIndex(task => helps(task, from, to))
    const [task] = index < 0 ? [] : free.splice(index, 1)
    if (task === undefined) continue
    moves.push({ task: task.id, from: from.agent.id, to: to.agent.id })
    from.load -= task.weight
    to.load += task.weight
  }
  return moves
}

/** Returns the queued tasks of an agent whose files no other agent has locked, least urgent first. */
function freeTasks(world: RebalanceWorld, agent: number): MovableTask[] {
  const free: MovableTask[] = []
  let examined = 0
  for (const task of world.queuedOf(agent)) {
    if (examined++ === MAX_EXAMINED) break
    if (task.files.every(file => isFree(world, agent, file))) free.push(task)
  }
  return free
}

function helps(task: MovableTask, from: Loaded, to: Loaded): boolean {
  if (to.load + task.weight >= from.load) return false
  const { capabilities: source } = from.agent
  const { capabilities: target } = to.agent
  if (task.capabilities === undefined || source === undefined || target === undefined) return true
  return penaltyOf(task.capabilities, target) >= penaltyOf(task.capabilities, source)
}

function isFree(world: RebalanceWorld, source: number, { path, access }: FileAffinity): boolean {
  if (access === 'read') return true
  const writer = world.writer(path)
  return writer === null || writer === source
}

/** Orders agents by the price of their model; an unknown price comes last. */
function byCost(a: Loaded, b: Loaded): number {
  const [one, other] = [a.agent.model_cost ?? Number.MAX_VALUE, b.agent.model_cost ?? Number.MAX_VALUE]
  return one - other
}

function byId(a: Loaded, b: Loaded): number {
  return a.agent.id - b.agent.id
}
