import fc from 'fast-check'
import t from 'tap'
import { hostPressure, Scaler, type ScalingSettings } from '#routing'
import type { AgentLoad } from '#state'

const DEFAULTS: ScalingSettings = {
  scaling_enabled: true,
  scaling_threshold: 5,
  scaling_lookback_ticks: 5,
  scaling_profile: 'balanced',
  scaling_cooldown_ms: 5_000,
  max_spawn_per_tick: 5,
  urgent_rebalance_threshold: 3,
  idle_retirement_ms: 300_000,
  resource_weight: 0.3,
  resource_cpu_multiplier: 0.7,
  resource_mem_multiplier: 0.3,
  resource_exponent: 1,
  max_agents: 8,
  min_agents: 1,
  mesh_routing_experimental: false
}

interface Options {
  readonly settings?: Partial<ScalingSettings>
  readonly cpu?: number
  readonly memory?: number
  readonly gpuNodes?: number
}

function open({ settings, cpu = 0, memory = 0, gpuNodes = 0 }: Options = {}): Scaler {
  let suffix = 0
  return new Scaler({
    settings: () => ({ ...DEFAULTS, ...settings }),
    pressure: () => ({ cpu, memory }),
    suffix: () => String(suffix++).padStart(8, '0'),
    remoteGpuNodes: () => gpuNodes
  })
}

function agents(...loads: number[]): AgentLoad[] {
  return loads.map((weighted_load, index) => load(index + 1, { weighted_load }))
}

function load(id: number, over: Partial<AgentLoad> = {}): AgentLoad {
  return {
    id,
    dynamic: false,
    paused: false,
    weighted_load: 0,
    queued: 0,
    urgent: 0,
    idle_since_ms: null,
    ...over
  }
}

/** Returns the number of agents that the first tick creates. */
function grown(loads: readonly number[], options: Options = {}): number {
  return open(options).tick(0, agents(...loads), false).spawn.length
}

t.test('creates as many agents as are missing, from the threshold on', async t => {
  t.equal(grown([4.99]), 0)
  t.equal(grown([5]), 1, 'at the threshold, at least one agent is created')
  t.equal(grown([11]), 2, '(11 - 5) / 5 = 1.2')
  t.equal(grown([15, 6]), 3, '(21 - 10) / 5 = 2.2')
  t.equal(grown([100]), 5, 'at most 5 agents are created per tick')
  t.equal(grown([100, 0, 0, 0, 0, 0]), 2, 'max_agents is not exceeded')
  t.equal(grown([40, 40, 40, 40, 40, 40, 40, 40]), 0)
})

t.test('names new agents transient-SUFFIX', async t => {
  t.same(open().tick(0, agents(11), false).spawn, ['transient-00000000', 'transient-00000001'])
})

t.test('profiles change the threshold', async t => {
  const effective = (scaling_profile: ScalingSettings['scaling_profile']) =>
    open({ settings: { scaling_profile } }).effectiveThreshold
  t.equal(effective('conservative'), 7.5)
  t.equal(effective('balanced'), 5)
  t.equal(effective('aggressive'), 3.5)
  t.equal(grown([7], { settings: { scaling_profile: 'conservative' } }), 0)
  t.equal(grown([3.5], { settings: { scaling_profile: 'aggressive' } }), 1)
})

t.test('pressure on the host increases the load', async t => {
  // 4.2 × (1 + 0.3 × (0.5 × 0.7 + 1 × 0.3)) = 4.2 × 1.195 = 5.019
  t.equal(grown([4.2], { cpu: 0.5, memory: 1 }), 1)
  t.equal(grown([4.18], { cpu: 0.5, memory: 1 }), 0)
  // 4.2 × (1 + 0.3 × 0.65 ^ 2) = 4.73
  t.equal(grown([4.2], { cpu: 0.5, memory: 1, settings: { resource_exponent: 2 } }), 0)
  t.equal(grown([4.2], { cpu: 0.5, memory: 1, settings: { resource_weight: 0 } }), 0)
})

t.test('queued tasks count if there are more than the threshold', async t => {
  const look = (queued: number) => open().tick(0, [load(1, { weighted_load: 4.5, queued })], false).spawn.length
  t.equal(look(5), 0)
  t.equal(look(6), 1)
})

t.test('GPU nodes of the mesh reduce the load', async t => {
  // 1 / (1 + 0.15 × 2) = 0.769; 6 × 0.769 = 4.6
  t.equal(grown([6]), 1)
  const settings = { mesh_routing_experimental: true }
  t.equal(grown([6], { settings, gpuNodes: 2 }), 0)
  t.equal(grown([6.5], { settings, gpuNodes: 2 }), 1)
  t.equal(grown([6], { gpuNodes: 2 }), 1, 'only with mesh_routing_experimental')
})

t.test('predicts the load from the last ticks', async t => {
  const scaler = open({ settings: { scaling_lookback_ticks: 3, scaling_enabled: false } })
  const predicted = (...loads: number[]) => {
    scaler.tick(0, agents(...loads), false)
    return Math.round(scaler.predictedLoad * 1e6) / 1e6
  }
  t.equal(scaler.predictedLoad, 0)
  t.equal(predicted(4), 4, 'a single total predicts itself')
  t.equal(predicted(8), 10, '8 + (8 - 6)')
  t.equal(predicted(6), 6, '6 + (6 - 6)')
  t.equal(predicted(1), 0, '1 + (1 - 5) is negative')
  t.equal(predicted(2), 1, '4 and 8 are outside the window: 2 + (2 - 3)')
})

t.test('creates agents before a rising load reaches the threshold', async t => {
  const scaler = open()
  t.same(scaler.tick(0, agents(1), false).spawn, [])
  t.equal(scaler.tick(1, agents(4), false).spawn.length, 1, '4 + (4 - 2.5) = 5.5')
})

t.test('waits for the cooldown between two additions', async t => {
  const scaler = open()
  t.equal(scaler.tick(10_000, agents(5), false).spawn.length, 1)
  t.equal(scaler.tick(14_999, agents(5), false).spawn.length, 0)
  t.equal(scaler.tick(15_000, agents(5), false).spawn.length, 1)
})

t.test('creates no agents if a budget is spent or scaling is disabled', async t => {
  t.same(open().tick(0, agents(50), true).spawn, [])
  t.equal(grown([50], { settings: { scaling_enabled: false } }), 0)
})

t.test('retires dynamic agents after a long idle time, the longest idle first', async t => {
  const idle = (id: number, idle_since_ms: number | null, dynamic = true) => load(id, { dynamic, idle_since_ms })
  const some = [idle(1, 0, false), idle(2, 100), idle(3, 0), idle(4, null), idle(5, 200)]
  const retired = (now: number, options: Options = {}, critical = false) =>
    open(options).tick(now, some, critical).retire
  t.same(retired(300_000), [])
  t.same(retired(300_001), [3])
  t.same(retired(400_000), [3, 2, 5])
  t.same(retired(400_000, { settings: { min_agents: 3 } }), [3, 2])
  t.same(retired(400_000, { settings: { min_agents: 5 } }), [])
  t.same(retired(150_001, {}, true), [3], 'agents are retired sooner if a budget is spent')
  t.same(retired(180_001, { settings: { scaling_profile: 'conservative' } }), [3])
  t.same(retired(440_000, { settings: { scaling_profile: 'aggressive' } }), [])
  t.same(retired(450_001, { settings: { scaling_profile: 'aggressive' } }), [3])
  t.same(retired(400_000, { settings: { scaling_enabled: false } }), [])
})

t.test('many urgent tasks of one agent request a rebalance, once per cooldown, if there are other agents', async t => {
  const busy = [load(1, { urgent: 4 }), load(2)]
  const scaler = open({ settings: { scaling_enabled: false } })
  t.equal(scaler.tick(0, busy, false).rebalanceUrgent, true)
  t.equal(scaler.tick(4_999, busy, false).rebalanceUrgent, false)
  t.equal(scaler.tick(5_000, busy, false).rebalanceUrgent, true)
  t.equal(open().tick(0, [load(1, { urgent: 3 }), load(2)], false).rebalanceUrgent, false)
  t.equal(open().tick(0, [load(1, { urgent: 9 })], false).rebalanceUrgent, false)
  t.equal(open({ settings: { urgent_rebalance_threshold: 0 } }).tick(0, busy, false).rebalanceUrgent, false)
})

t.test('changed settings apply from the next tick on', async t => {
  const settings: { scaling_threshold?: number } = {}
  const scaler = open({ settings })
  settings.scaling_threshold = 100
  t.same(scaler.tick(0, agents(50), false).spawn, [])
})

t.test('the number of agents stays between min_agents and max_agents', async t => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ dynamic: fc.boolean(), isIdle: fc.boolean(), load: fc.nat(100) }), { maxLength: 12 }),
      fc.nat(6),
      fc.boolean(),
      (inputs, min, critical) => {
        const some = inputs.map(({ dynamic, isIdle, load: weighted_load }, index) =>
          load(index, { dynamic, weighted_load: isIdle ? 0 : weighted_load, idle_since_ms: isIdle ? 0 : null })
        )
        const settings = { min_agents: min, max_agents: 8 }
        const { spawn, retire } = open({ settings }).tick(1_000_000, some, critical)
        if (spawn.length > Math.max(8 - some.length, 0)) throw new Error('too many agents')
        if (retire.length > 0 && some.length - retire.length < min) throw new Error('too few agents')
        if (retire.some(id => !some[id]!.dynamic || some[id]!.idle_since_ms === null))
          throw new Error('a static or busy agent was retired')
      }
    )
  )
  t.pass('the property holds for all inputs')
})

t.test('the pressure of this host is within [0, 1]', async t => {
  for (const fraction of Object.values(hostPressure())) t.ok(fraction >= 0 && fraction <= 1)
})
