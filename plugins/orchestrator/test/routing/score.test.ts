import type { CapabilityHints } from '@svc/contracts'
import t from 'tap'
import type { TaskToRoute } from '#state'
import { agent, node, type Opened, openRouter, task } from './world.ts'

const TRAINING = { routing_experimental: false, training_routing_experimental: true, training_budget_pressure: 0.5 }

/** Names and points of what one agent gets for a task. */
function terms({ router }: Opened, asked: TaskToRoute): Record<string, number> {
  const [candidate] = router.explain(asked, 1)
  return Object.fromEntries((candidate?.terms ?? []).map(({ term, value }) => [term, Math.round(value * 1e6) / 1e6]))
}

/** A router with one agent. */
function one(options: Parameters<typeof openRouter>[0] = {}, over: Parameters<typeof agent>[1] = {}): Opened {
  const opened = openRouter(options)
  opened.router.agentAdded(agent(1, over))
  return opened
}

t.test('10 points for each file of the task that it owns', async t => {
  const opened = one()
  for (const path of ['c/1', 'c/2', 'c/3']) opened.world.owners.set(path, 1)
  t.same(terms(opened, task(['c/1', 'c/2', 'c/9'])), { owned_files: 20, load: 0 })
})

t.test('15 points for the agent of the group of a file, once', async t => {
  const opened = one()
  opened.world.groupAgents.set('a', 1).set('b', 1)
  t.same(terms(opened, task(['a/1', 'a/2', 'b/1'])), { group_agent: 15, load: 0 })
})

t.test('5 points for being named as the group', async t => {
  t.same(terms(one({}, { name: 'a' }), task(['a/1'])), { group_name: 5, load: 0 })
})

t.test('a tenth of a point less for each unit of load', async t => {
  t.same(terms(one({}, { weighted_load: 12 }), task(['c/1'])), { load: -1.2 })
})

for (const device of ['gpu_cuda', 'gpu_metal', 'gpu_vulkan', 'gpu_webgpu', 'npu', 'visus_eligible', 'multi_modal'])
  t.test(`10,000 points less without ${device} where it is required`, async t => {
    const asked = task(['c/1'], { capabilities: { [device]: true } })
    t.same(terms(one(), asked), { load: 0, [`missing_${device}`]: -10_000 })
    t.same(terms(one({}, { capabilities: { [device]: true } }), asked), { load: 0 })
  })

t.test('5,000 points less for each of memory and cores that are too small', async t => {
  const asked = task([], { capabilities: { min_vram_mb: 8_000, min_cpu_cores: 8 } })
  const missing = { load: 0, missing_min_vram_mb: -5_000, missing_min_cpu_cores: -5_000 }
  const has = (capabilities: CapabilityHints) => terms(one({}, { capabilities }), asked)
  t.same(has({}), missing)
  t.same(has({ min_vram_mb: 7_999, cpu_cores: 7 }), missing)
  t.same(has({ min_vram_mb: 8_000, cpu_cores: 8 }), { load: 0 })
  t.same(has({ min_vram_mb: 8_000, min_cpu_cores: 8 }), { load: 0 }, 'cores that are configured where none are known')
})

t.test('1,500 points less without any GPU where one is preferred', async t => {
  const asked = task([], { capabilities: { prefer_gpu_compute: true } })
  t.same(terms(one({}, { capabilities: { npu: true } }), asked), { load: 0, missing_prefer_gpu_compute: -1_500 })
  t.same(terms(one({}, { capabilities: { gpu_metal: true } }), asked), { load: 0 })
})

t.test('a quarter of a point where nodes can take work and the labels are covered', async t => {
  const mesh = { routing_experimental: true, training_routing_experimental: false, training_budget_pressure: 0 }
  const asked = task(['c/1'], { capabilities: { labels: ['fast'] }, required_labels: ['near'] })
  const capabilities = { labels: ['near', 'fast'] }
  t.same(terms(one({ mesh, nodes: [node()] }, { capabilities }), asked), { load: 0, remote_nodes: 0.25 })
  t.same(terms(one({ mesh, nodes: [node()] }, { capabilities: { labels: ['fast'] } }), asked), { load: 0 })
  for (const over of [{ maintenance: true }, { quarantined: true }, { heartbeat_stale: true }])
    t.same(terms(one({ mesh, nodes: [node(over)] }, { capabilities }), asked), { load: 0 }, JSON.stringify(over))
  t.same(terms(one({ nodes: [node()] }, { capabilities }), asked), { load: 0 }, 'not unless it is required')
})

t.test('trainings: GPU, memory, pressure on the budget, labels', async t => {
  const asked = task(['c/1'], { capabilities: { min_vram_mb: 12_288, labels: ['workload=train', 'quiet'] } })
  const fit = { gpu_cuda: true, min_vram_mb: 16_000, labels: ['workload=train'] }
  const all = { training_gpu: 0.75, training_vram: 0.75, training_pressure: -1, training_label: 0.25 }
  t.same(terms(one({ mesh: TRAINING }, { capabilities: fit }), asked), { load: 0, ...all })
  const poor = { load: 0, missing_min_vram_mb: -5_000, training_vram: -0.5, training_pressure: -1 }
  t.same(terms(one({ mesh: TRAINING }), asked), poor)
  const small = task(['c/1'], { capabilities: { min_vram_mb: 12_287 }, required_labels: ['pool=x'] })
  t.same(terms(one({ mesh: TRAINING }, { capabilities: fit }), small), {
    load: 0,
    training_gpu: 0.75,
    training_vram: 0.75
  })
  const plain = task(['c/1'], { capabilities: { min_vram_mb: 12_288 } })
  t.same(terms(one({ mesh: TRAINING }, { capabilities: fit }), plain), { load: 0 }, 'no training')
})

t.test('shards: reliability at the phase, shards that failed, conflicts for a while', async t => {
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

t.test('reputation: reliability, skills, workflow and trust', async t => {
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
  t.same(terms(opened, task(['c/1'])), { load: 0, reliability: 1, skills: 0.5, trust: 0.75 }, 'it is unknown')
})

t.test('attention: trust and what it may yet turn out to be', async t => {
  const opened = one({ settings: { attention_enabled: true, attention_trust_routing_weight: 2 } })
  const bound = (score: number, outcomes: number) => {
    opened.world.trusts.set(1, { score, outcomes, reliability: 0.5 })
    return terms(opened, task(['c/1'])).attention
  }
  t.equal(bound(0.5, 0), 1.5)
  t.equal(bound(0.5, 24), 0.7)
  t.equal(bound(1, 0), 2)
  t.equal(bound(-3, 24), 0, 'never below nothing')
})

t.test('terms add up to the score, and each says why', async t => {
  const settings = { attention_enabled: true, qgate_reputation_routing: true }
  const opened = one({ settings, mesh: TRAINING }, { name: 'a', weighted_load: 3.2, paused: true })
  opened.world.owners.set('a/1', 1)
  const asked = task(['a/1'], {
    description: '[PHASE:REDUCE]',
    capabilities: { gpu_cuda: true, min_vram_mb: 16_000, labels: ['pool=x'] }
  })
  const [candidate] = opened.router.explain(asked, 10)
  t.ok((candidate?.terms.length ?? 0) >= 10)
  const sum = candidate?.terms.reduce((total, { value }) => total + value, 0) ?? 0
  t.ok(Math.abs(sum - (candidate?.score ?? 0)) < 1e-6)
  for (const { because } of candidate?.terms ?? []) t.match(because, /^\S.*\S$/)
  t.equal(candidate?.terms.at(-1)?.term, 'paused')
})
