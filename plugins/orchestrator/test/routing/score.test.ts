import type { CapabilityHints } from '@svc/contracts'
import t from 'tap'
import type { TaskToRoute } from '#state'
import { agent, node, type Opened, openRouter, task } from './world.ts'

const TRAINING = { mesh_training_routing_experimental: true, mesh_training_budget_pressure: 0.5 }

/** Returns the terms of the only agent for a task, by name. */
function terms({ router }: Opened, route: TaskToRoute): Record<string, number> {
  const [candidate] = router.explain(route, 1)
  return Object.fromEntries((candidate?.terms ?? []).map(({ term, value }) => [term, Math.round(value * 1e6) / 1e6]))
}

/** Opens a router with one agent. */
function one(options: Parameters<typeof openRouter>[0] = {}, over: Parameters<typeof agent>[1] = {}): Opened {
  const opened = openRouter(options)
  opened.router.agentAdded(agent(1, over))
  return opened
}

t.test('10 points for each file of the task that the agent owns', async t => {
  const opened = one()
  for (const path of ['c/1', 'c/2', 'c/3']) opened.world.owners.set(path, 1)
  t.same(terms(opened, task(['c/1', 'c/2', 'c/9'])), { owned_files: 20, load: 0 })
})

t.test('15 points, once, for the agent of a file’s group', async t => {
  const opened = one()
  opened.world.groupAgents.set('a', 1).set('b', 1)
  t.same(terms(opened, task(['a/1', 'a/2', 'b/1'])), { group_agent: 15, load: 0 })
})

t.test('5 points for an agent with the name of the group', async t => {
  t.same(terms(one({}, { name: 'a' }), task(['a/1'])), { group_name: 5, load: 0 })
})

t.test('−0.1 points for each unit of load', async t => {
  t.same(terms(one({}, { weighted_load: 12 }), task(['c/1'])), { load: -1.2 })
})

for (const device of ['gpu_cuda', 'gpu_metal', 'gpu_vulkan', 'gpu_webgpu', 'npu', 'visus_eligible', 'multi_modal'])
  t.test(`−10,000 points without ${device} if it is required`, async t => {
    const route = task(['c/1'], { capabilities: { [device]: true } })
    t.same(terms(one(), route), { load: 0, [`missing_${device}`]: -10_000 })
    t.same(terms(one({}, { capabilities: { [device]: true } }), route), { load: 0 })
  })

t.test('−5,000 points each for too little memory and too few cores', async t => {
  const route = task([], { capabilities: { min_vram_mb: 8_000, min_cpu_cores: 8 } })
  const missing = { load: 0, missing_min_vram_mb: -5_000, missing_min_cpu_cores: -5_000 }
  const has = (capabilities: CapabilityHints) => terms(one({}, { capabilities }), route)
  t.same(has({}), missing)
  t.same(has({ min_vram_mb: 7_999, cpu_cores: 7 }), missing)
  t.same(has({ min_vram_mb: 8_000, cpu_cores: 8 }), { load: 0 })
  t.same(
    has({ min_vram_mb: 8_000, min_cpu_cores: 8 }),
    { load: 0 },
    'configured minimum cores count if the cores are unknown'
  )
})

t.test('−1,500 points without a GPU if one is preferred', async t => {
  const route = task([], { capabilities: { prefer_gpu_compute: true } })
  t.same(terms(one({}, { capabilities: { npu: true } }), route), { load: 0, missing_prefer_gpu_compute: -1_500 })
  t.same(terms(one({}, { capabilities: { gpu_metal: true } }), route), { load: 0 })
})

t.test('0.25 points if mesh nodes are available and the agent has the labels', async t => {
  const settings = { mesh_routing_experimental: true }
  const route = task(['c/1'], { capabilities: { labels: ['fast'] }, required_labels: ['near'] })
  const capabilities = { labels: ['near', 'fast'] }
  t.same(terms(one({ settings, nodes: [node()] }, { capabilities }), route), { load: 0, remote_nodes: 0.25 })
  t.same(terms(one({ settings, nodes: [node()] }, { capabilities: { labels: ['fast'] } }), route), { load: 0 })
  for (const over of [{ maintenance: true }, { quarantined: true }, { heartbeat_stale: true }])
    t.same(terms(one({ settings, nodes: [node(over)] }, { capabilities }), route), { load: 0 }, JSON.stringify(over))
  t.same(
    terms(one({ nodes: [node()] }, { capabilities }), route),
    { load: 0 },
    'the term needs mesh_routing_experimental'
  )
})

t.test('training terms: GPU, memory, pressure on the budget, labels', async t => {
  const route = task(['c/1'], { capabilities: { min_vram_mb: 12_288, labels: ['workload=train', 'quiet'] } })
  const fit = { gpu_cuda: true, min_vram_mb: 16_000, labels: ['workload=train'] }
  const all = { training_gpu: 0.75, training_vram: 0.75, training_pressure: -1, training_label: 0.25 }
  t.same(terms(one({ settings: TRAINING }, { capabilities: fit }), route), { load: 0, ...all })
  const poor = { load: 0, missing_min_vram_mb: -5_000, training_vram: -0.5, training_pressure: -1 }
  t.same(terms(one({ settings: TRAINING }), route), poor)
  const small = task(['c/1'], { capabilities: { min_vram_mb: 12_287 }, required_labels: ['pool=x'] })
  t.same(terms(one({ settings: TRAINING }, { capabilities: fit }), small), {
    load: 0,
    training_gpu: 0.75,
    training_vram: 0.75
  })
  const plain = task(['c/1'], { capabilities: { min_vram_mb: 12_288 } })
  t.same(terms(one({ settings: TRAINING }, { capabilities: fit }), plain), { load: 0 }, 'the task is not a training')
})

t.test('shard terms: reliability at the phase, failed shards, recent conflicts', async t => {
  const opened = one()
  const { router, world } = opened
  t.same(terms(opened, task(['c/1'], { description: '[PHASE:SHARD_GEN] x' })), { load: 0, shard_skill: 0.75 })
  router.skillOutcome(1, 'shard_gen', true)
  router.skillOutcome(1, 'shard_gen', true)
  router.shardOutcome(1, 'shard_validate')
  router.shardOutcome(1, 'reduce_conflict')
  const penalised = { load: 0, shard_skill: 1.125, shard_failures: -0.8 }
  t.same(terms(opened, task(['c/1'], { description: '[PHASE:SHARD_GEN] x' })), penalised)
  const reduce = task(['c/1'], { description: 'now [PHASE:REDUCE]' })
  t.same(terms(opened, reduce), { load: 0, shard_skill: 0.75, shard_failures: -0.8, reduce_cooldown: -2.5 })
  world.time += 300_000
  t.same(terms(opened, reduce), { load: 0, shard_skill: 0.75, shard_failures: -0.8 })
})

t.test('reputation terms: reliability, skills, workflow and trust', async t => {
  const opened = one({ settings: { qgate_reputation_routing: true, qgate_reputation_weight: 2 } })
  opened.world.trusts.set(1, { score: 0.3, outcomes: 3, reliability: 0.75, rollup: 0.8 })
  opened.router.skillOutcome(1, 'writing', true)
  opened.router.skillOutcome(1, 'reading', false)
  t.same(terms(opened, task(['c/1'], { workflow: 'w' })), {
    load: 0,
    reliability: 1.5,
    skills: 0.5,
    workflow: 0.2,
    trust: 1.2
  })
  opened.world.trusts.set(1, { score: 0.8, outcomes: 3, reliability: 0.75, rollup: 0.24 })
  t.same(terms(opened, task(['c/1'])), { load: 0, reliability: 1.5, skills: 0.5, trust: -10_000 })
  opened.world.trusts.delete(1)
  t.same(
    terms(opened, task(['c/1'])),
    { load: 0, reliability: 1, skills: 0.5, trust: 0.75 },
    'an agent without outcomes gets default values'
  )
})

t.test('attention term: an upper confidence bound of the trust', async t => {
  const opened = one({ settings: { attention_enabled: true, attention_trust_routing_weight: 2 } })
  const bound = (score: number, outcomes: number) => {
    opened.world.trusts.set(1, { score, outcomes, reliability: 0.5 })
    return terms(opened, task(['c/1'])).attention
  }
  t.equal(bound(0.5, 0), 1.5)
  t.equal(bound(0.5, 24), 0.7)
  t.equal(bound(1, 0), 2)
  t.equal(bound(-3, 24), 0, 'the bound is at least zero')
})

t.test('terms add up to the score, and each has a reason', async t => {
  const settings = { attention_enabled: true, qgate_reputation_routing: true, ...TRAINING }
  const opened = one({ settings }, { name: 'a', weighted_load: 3.2, paused: true })
  opened.world.owners.set('a/1', 1)
  const route = task(['a/1'], {
    description: '[PHASE:REDUCE]',
    capabilities: { gpu_cuda: true, min_vram_mb: 16_000, labels: ['pool=x'] }
  })
  const [candidate] = opened.router.explain(route, 10)
  t.ok((candidate?.terms.length ?? 0) >= 10)
  const sum = candidate?.terms.reduce((total, { value }) => total + value, 0) ?? 0
  t.ok(Math.abs(sum - (candidate?.score ?? 0)) < 1e-6)
  for (const { because } of candidate?.terms ?? []) t.match(because, /^\S.*\S$/)
  t.equal(candidate?.terms.at(-1)?.term, 'paused')
})
