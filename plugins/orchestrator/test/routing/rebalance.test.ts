import fc from 'fast-check'
import t from 'tap'
import { rebalancer } from '#routing'
import type { AgentLoad, MovableTask, RebalanceWorld } from '#state'

const plan = rebalancer(() => ({ cost_preference: 'performance' }))

function load(id: number, weighted_load: number, over: Partial<AgentLoad> = {}): AgentLoad {
  return { id, dynamic: false, paused: false, weighted_load, queued: 0, urgent: 0, idle_since_ms: null, ...over }
}

function movable(id: number, agent: number, over: Partial<MovableTask> = {}): MovableTask {
  return { id, agent, priority: 'Normal', weight: 1, files: [], capabilities: undefined, ...over }
}

function world(
  agents: readonly AgentLoad[],
  tasks: readonly MovableTask[],
  locks: ReadonlyMap<string, number> = new Map()
): RebalanceWorld {
  return {
    agents,
    queuedOf: agent => tasks.filter(task => task.agent === agent),
    writer: path => locks.get(path) ?? null
  }
}

const writes = (...paths: string[]) => ({ files: paths.map(path => ({ path, access: 'write' as const })) })

t.test('moves one task per pair of an overloaded agent and one below the mean', async t => {
  const agents = [load(1, 10), load(2, 0), load(3, 1)]
  const tasks = Array.from({ length: 10 }, (_, index) => movable(index + 1, 1))
  t.same(plan(world(agents, tasks)), [
    { task: 1, from: 1, to: 2 },
    { task: 2, from: 1, to: 3 }
  ])
})

t.test('an agent with a load exactly 2 above the mean is not overloaded', async t => {
  const tasks = [movable(1, 1)]
  t.same(plan(world([load(1, 4), load(2, 0)], tasks)), [])
  t.same(plan(world([load(1, 4.04), load(2, 0)], tasks)), [{ task: 1, from: 1, to: 2 }])
  t.same(plan(world([], [])), [])
})

t.test('does not move a task whose files another agent writes', async t => {
  const locks = new Map([
    ['held', 3],
    ['own', 1]
  ])
  const agents = [load(1, 10), load(2, 0), load(3, 5)]
  const tasks = [
    movable(1, 1, writes('free', 'held')),
    movable(2, 1, { files: [{ path: 'held', access: 'read' }, ...writes('own').files] })
  ]
  t.same(plan(world(agents, tasks, locks)), [{ task: 2, from: 1, to: 2 }])
})

t.test('moves no task to a paused, overloaded or unsuitable agent', async t => {
  t.same(plan(world([load(1, 10), load(2, 0, { paused: true })], [movable(1, 1)])), [])
  t.same(plan(world([load(1, 6), load(2, 0)], [movable(1, 1, { weight: 6 })])), [])
  const capable = (id: number, weight: number, gpu_cuda: boolean) => load(id, weight, { capabilities: { gpu_cuda } })
  const tasks = [movable(1, 1, { capabilities: { gpu_cuda: true } }), movable(2, 1)]
  t.same(plan(world([capable(1, 10, true), capable(2, 0, false)], tasks)), [{ task: 2, from: 1, to: 2 }])
  t.same(plan(world([capable(1, 10, false), capable(2, 0, true)], tasks)), [{ task: 1, from: 1, to: 2 }])
})

t.test('with economy, agents with the cheapest models get tasks first', async t => {
  const agents = [load(1, 20), load(2, 0), load(3, 1, { model_cost: 2 }), load(4, 3, { model_cost: 1 })]
  const tasks = [movable(1, 1), movable(2, 1), movable(3, 1)]
  const targets = (preference: 'economy' | 'performance') =>
    rebalancer(() => ({ cost_preference: preference }))(world(agents, tasks)).map(({ to }) => to)
  t.same(targets('performance'), [2, 3, 4])
  t.same(targets('economy'), [4, 3, 2])
})

t.test('moves bring loads closer together, and move no task twice', async t => {
  const loads = fc.integer({ min: 0, max: 300 }).map(units => units / 25)
  fc.assert(
    fc.property(
      fc.array(fc.record({ base: loads, weights: fc.array(fc.constantFrom(0.4, 1, 3, 6), { maxLength: 8 }) })),
      fc.constantFrom('economy' as const, 'performance' as const),
      (inputs, preference) => {
        let next = 1
        const tasks: MovableTask[] = []
        const agents = inputs.map(({ base, weights }, index) => {
          for (const weight of weights) tasks.push(movable(next++, index, { weight }))
          return load(index, base + weights.reduce((a, b) => a + b, 0))
        })
        const moves = rebalancer(() => ({ cost_preference: preference }))(world(agents, tasks))
        const after = agents.map(({ weighted_load }) => weighted_load)
        for (const { task, from, to } of moves) {
          const { agent, weight } = tasks[task - 1]!
          if (agent !== from) throw new Error('the task does not belong to the source agent')
          after[from]! -= weight
          after[to]! += weight
        }
        if (new Set(moves.map(({ task }) => task)).size !== moves.length) throw new Error('a task was moved twice')
        if (new Set(moves.map(({ from, to }) => `${from} ${to}`)).size !== moves.length)
          throw new Error('a pair of agents occurs twice')
        const squares = (values: readonly number[]) => values.reduce((sum, value) => sum + value * value, 0)
        const before = agents.map(({ weighted_load }) => weighted_load)
        if (moves.length > 0 && squares(after) >= squares(before)) throw new Error('the loads are further apart')
      }
    )
  )
  t.pass('the property holds for all inputs')
})
