import type { CapabilityHints } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import type { RoutableAgent, TaskToRoute } from '#state'
import { naiveRoute } from './naive-router.ts'
import { DEFAULTS, node, openRouter, task, World } from './world.ts'

const PATHS = ['a/1', 'a/2', 'a/x/3', 'b/1', 'b/2', 'c/1', 'c/2', 'top']
const SKILLS = ['shard_gen', 'shard_validate', 'reduce', 'writing']
const LABELS = ['fast', 'workload=train', 'pool=big']

const load = fc.integer({ min: 0, max: 200 }).map(units => units / 25)
const sometimes = <A>(values: fc.Arbitrary<A>) => fc.option(values, { nil: undefined })

const capabilities: fc.Arbitrary<CapabilityHints> = fc
  .record(
    {
      gpu_cuda: fc.boolean(),
      npu: fc.boolean(),
      gpu_webgpu: fc.boolean(),
      min_vram_mb: fc.constantFrom(0, 8_000, 16_000),
      cpu_cores: fc.constantFrom(2, 8),
      labels: fc.subarray(LABELS)
    },
    { requiredKeys: [] }
  )
  .map(values => values)

const asked: fc.Arbitrary<CapabilityHints> = fc
  .record(
    {
      gpu_cuda: fc.boolean(),
      npu: fc.boolean(),
      min_vram_mb: fc.constantFrom(0, 8_000, 16_000),
      min_cpu_cores: fc.constantFrom(0, 4),
      prefer_gpu_compute: fc.boolean(),
      labels: fc.subarray(LABELS)
    },
    { requiredKeys: [] }
  )
  .map(values => values)

const agents = fc.uniqueArray(
  fc.record({
    id: fc.integer({ min: 1, max: 30 }),
    name: fc.constantFrom('a', 'b', 'default', 'x'),
    dynamic: fc.boolean(),
    paused: fc.boolean(),
    capabilities,
    weighted_load: load
  }),
  { selector: ({ id }) => id, maxLength: 9 }
)

const tasks: fc.Arbitrary<TaskToRoute> = fc
  .record({
    files: fc.uniqueArray(fc.constantFrom(...PATHS), { maxLength: 4 }),
    description: fc.constantFrom(
      'Do',
      'Do',
      'Do',
      'Do',
      'Do',
      'Do',
      '[PHASE:SHARD_GEN] x',
      'x [PHASE:REDUCE]',
      '[PHASE:SHARD_VALIDATE]'
    ),
    agent_name: fc.option(fc.constantFrom('x', 'new'), { nil: undefined, freq: 9 }),
    capabilities: fc.option(asked, { nil: undefined, freq: 2 }),
    required_labels: sometimes(fc.subarray(LABELS)),
    workflow: sometimes(fc.constant('w'))
  })
  .map(({ files, ...over }) => task(files, over))

const settings = fc
  .record({
    fallback_to_single_agent: fc.boolean(),
    qgate_reputation_routing: fc.integer({ min: 0, max: 3 }).map(n => n === 0),
    qgate_reputation_weight: fc.constantFrom(0.5, 1, 4),
    attention_enabled: fc.integer({ min: 0, max: 3 }).map(n => n === 0),
    routing_exploration_epsilon: fc.constantFrom(0, 0.5),
    mesh_routing_experimental: fc.integer({ min: 0, max: 3 }).map(n => n === 0),
    mesh_training_routing_experimental: fc.boolean(),
    mesh_training_budget_pressure: fc.constantFrom(0, 0.5)
  })
  .map(over => ({ ...DEFAULTS, ...over }))

const worlds = fc.record({
  settings,
  nodes: fc.array(
    fc.record({ quarantined: fc.boolean(), heartbeat_stale: fc.boolean() }).map(over => node(over)),
    { maxLength: 2 }
  ),
  newAgent: capabilities,
  hasRoom: fc.boolean(),
  agents,
  owners: fc.array(fc.tuple(fc.constantFrom(...PATHS), fc.integer({ min: 1, max: 12 })), { maxLength: 3 }),
  groupAgents: fc.array(fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 1, max: 12 }))),
  trusts: fc.array(
    fc.tuple(
      fc.integer({ min: 1, max: 30 }),
      fc.record(
        {
          score: fc.constantFrom(0, 0.2, 0.25, 0.5, 0.9),
          outcomes: fc.integer({ min: 0, max: 40 }),
          reliability: fc.constantFrom(0.1, 0.5, 0.8),
          rollup: fc.constantFrom(0, 0.2, 0.25, 0.5, 0.9)
        },
        { requiredKeys: ['score', 'outcomes', 'reliability'] }
      )
    )
  ),
  outcomes: fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.constantFrom(...SKILLS), fc.boolean())),
  shards: fc.array(
    fc.tuple(fc.integer({ min: 1, max: 30 }), fc.constantFrom('shard_validate' as const, 'reduce_conflict' as const))
  ),
  draws: fc.array(
    fc.integer({ min: 0, max: 99 }).map(n => n / 100),
    { minLength: 1, maxLength: 6 }
  ),
  steps: fc.array(
    fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('route' as const), task: tasks }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('load' as const), pick: fc.nat(20), load }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('pause' as const), pick: fc.nat(20) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('retire' as const), pick: fc.nat(20) }) }
    ),
    { minLength: 1, maxLength: 20 }
  )
})

t.test('routes like the reference router, which applies the whole table to every agent', async t => {
  const rules = new Set<string>()
  fc.assert(
    fc.property(worlds, given => {
      const world = new World()
      world.hasRoom = given.hasRoom
      for (const [path, owner] of given.owners) world.owners.set(path, owner)
      for (const [group, id] of given.groupAgents) world.groupAgents.set(group, id)
      for (const [id, trust] of given.trusts) world.trusts.set(id, trust)
      const { router } = openRouter({ ...given, world, random: dice(given.draws) })
      const random = dice(given.draws)
      const living: RoutableAgent[] = [...given.agents]
      for (const one of living) router.agentAdded(one)
      for (const [id, skill, success] of given.outcomes) router.skillOutcome(id, skill, success)
      for (const [id, outcome] of given.shards) router.shardOutcome(id, outcome)
      const dead = new Set<number>()
      const tallies = (id: number, skill?: string) =>
        dead.has(id) ? [] : given.outcomes.filter(([of, name]) => of === id && (skill === undefined || name === skill))
      const laplace = (some: readonly (readonly [number, string, boolean])[]) =>
        (some.filter(([, , success]) => success).length + 1) / (some.length + 2)
      for (const step of given.steps) {
        if (step.kind === 'route') {
          const expected = naiveRoute(step.task, {
            ...given,
            agents: living,
            owners: world.owners,
            groupAgents: world.groupAgents,
            groupOf: path => ['a', 'b'].find(group => path.startsWith(`${group}/`)) ?? null,
            trust: id => world.trust(id),
            completionTrust: id => world.completionTrust(id),
            skill: (id, phase) => laplace(tallies(id, phase)),
            meanSkill: id => {
              const names = [...new Set(tallies(id).map(([, name]) => name))]
              if (names.length === 0) return 0.5
              return names.map(name => laplace(tallies(id, name))).reduce((a, b) => a + b, 0) / names.length
            },
            shardFailures: id =>
              dead.has(id)
                ? 0
                : given.shards.filter(([of, outcome]) => of === id && outcome === 'shard_validate').length,
            inCooldown: id =>
              !dead.has(id) && given.shards.some(([of, outcome]) => of === id && outcome === 'reduce_conflict'),
            schedulableNodes: given.nodes.filter(one => !one.quarantined && !one.heartbeat_stale).length,
            random
          })
          const decision = router.route(step.task)
          rules.add(decision.rule)
          const { rule, group } = decision
          const where = decision.kind === 'agent' ? { agent: decision.agent } : { name: decision.name }
          if (JSON.stringify({ ...where, rule, group }) !== JSON.stringify(expected))
            throw new Error(`${JSON.stringify({ ...where, rule, group })}, not ${JSON.stringify(expected)}`)
          continue
        }
        const index = step.pick % Math.max(living.length, 1)
        const one = living[index]
        if (one === undefined) continue
        if (step.kind === 'load') {
          living[index] = { ...one, weighted_load: step.load }
          router.loadChanged(one.id, step.load)
        } else if (step.kind === 'pause') {
          living[index] = { ...one, paused: !one.paused }
          router.pausedChanged(one.id, !one.paused)
        } else {
          living.splice(index, 1)
          dead.add(one.id)
          router.agentRemoved(one.id)
        }
      }
    }),
    { numRuns: 1_500 }
  )
  t.same(
    [...rules].sort(),
    [
      'exploration',
      'fallback_single',
      'highest_score',
      'least_loaded',
      'spawn_default',
      'spawn_for_group',
      'spawn_general',
      'target_agent'
    ],
    'every rule decided at least once'
  )
})

/** Returns the numbers one after the other, repeatedly. */
function dice(draws: readonly number[]): () => number {
  let at = 0
  return () => draws[at++ % draws.length]!
}
