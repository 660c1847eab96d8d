import t from 'tap'
import { agent, openRouter, task } from './world.ts'

t.test('the requested agent gets the task; it is created if missing', async t => {
  const { router } = openRouter()
  router.agentAdded(agent(4, { name: 'x' }))
  router.agentAdded(agent(3, { name: 'x' }))
  t.match(router.route(task([], { agent_name: 'x' })), { kind: 'agent', agent: 3, rule: 'target_agent' })
  router.agentRemoved(3)
  t.match(router.route(task([], { agent_name: 'x' })), { kind: 'agent', agent: 4 })
  router.agentRemoved(4)
  t.match(router.route(task([], { agent_name: 'x' })), {
    kind: 'spawn',
    name: 'x',
    dynamic: false,
    rule: 'target_agent'
  })
})

t.test('assigns a task without files to the least loaded agent, or the older of two equal ones', async t => {
  const { router } = openRouter()
  t.match(router.route(task([])), { kind: 'spawn', name: 'default', rule: 'spawn_default', dynamic: false })
  for (const id of [3, 1, 2]) router.agentAdded(agent(id, { weighted_load: id === 1 ? 1 : 0 }))
  t.match(router.route(task([])), { agent: 2, rule: 'least_loaded' })
  router.loadChanged(2, 0.4)
  t.match(router.route(task([])), { agent: 3 })
  router.pausedChanged(3, true)
  t.match(router.route(task([])), { agent: 2 }, 'a paused agent ranks last')
  for (const id of [1, 2]) router.agentRemoved(id)
  t.match(router.route(task([])), { agent: 3 }, 'a paused agent is used if there is no other')
})

t.test('the first task of a group creates an agent, which gets the next ones', async t => {
  const { router, world } = openRouter()
  router.agentAdded(agent(1))
  const first = router.route(task(['c/1', 'a/1', 'b/1']))
  t.match(first, { kind: 'spawn', name: 'a', rule: 'spawn_for_group', group: 'a', dynamic: false })
  router.agentAdded(agent(2, { name: 'a' }))
  world.groupAgents.set('a', 2)
  t.match(router.route(task(['a/2'])), { kind: 'agent', agent: 2, rule: 'highest_score', group: 'a' })
})

t.test('at the agent limit, the least loaded agent gets the task of a group', async t => {
  const { router, world } = openRouter()
  world.hasRoom = false
  router.agentAdded(agent(1, { weighted_load: 2 }))
  router.agentAdded(agent(2, { weighted_load: 1 }))
  t.match(router.route(task(['a/1'])), { agent: 2, rule: 'fallback_single', group: 'a' })
})

t.test('assigns a file without a group to the least loaded agent, or to a general one', async t => {
  const lenient = openRouter()
  lenient.router.agentAdded(agent(1))
  t.match(lenient.router.route(task(['c/1'])), { agent: 1, rule: 'fallback_single', group: null })
  const strict = openRouter({ settings: { fallback_to_single_agent: false } })
  strict.router.agentAdded(agent(1))
  t.match(strict.router.route(task(['c/1'])), { name: 'general', rule: 'spawn_general', dynamic: true })
  strict.settings.fallback_to_single_agent = true
  t.match(strict.router.route(task(['c/1'])), { agent: 1, rule: 'fallback_single' }, 'settings take effect immediately')
})

t.test('an agent that lacks a requirement gets no task while another meets all', async t => {
  const { router, world } = openRouter()
  router.agentAdded(agent(1))
  router.agentAdded(agent(2, { capabilities: { gpu_cuda: true }, weighted_load: 500_000 }))
  world.owners.set('a/1', 1)
  world.groupAgents.set('a', 1)
  const asked = { capabilities: { prefer_gpu_compute: true } }
  t.match(router.route(task(['a/1'], asked)), { agent: 2, rule: 'highest_score' })
  t.match(router.route(task([], asked)), { agent: 2, rule: 'least_loaded' })
  router.agentRemoved(2)
  t.match(router.route(task(['a/1'], asked)), { agent: 1 }, 'it gets the task if there is no other agent')
})

t.test('an agent is created for a group only if it is as fit as the existing ones', async t => {
  const asked = { capabilities: { gpu_cuda: true } }
  const poor = openRouter()
  poor.router.agentAdded(agent(1, { capabilities: { gpu_cuda: true } }))
  t.match(poor.router.route(task(['a/1'], asked)), { agent: 1, rule: 'highest_score' })
  const rich = openRouter({ newAgent: { gpu_cuda: true } })
  rich.router.agentAdded(agent(1, { capabilities: { gpu_cuda: true } }))
  t.match(rich.router.route(task(['a/1'], asked)), { name: 'a', rule: 'spawn_for_group' })
})

t.test('any capable agent is sometimes chosen if attention is enabled', async t => {
  const draws = [0.04, 0.7, 0.05, 0.9]
  const { router, world } = openRouter({ settings: { attention_enabled: true }, random: () => draws.shift()! })
  for (const id of [1, 2, 3]) router.agentAdded(agent(id, { paused: id === 1 }))
  world.owners.set('c/1', 2)
  t.match(router.route(task(['c/1'])), { agent: 3, rule: 'exploration' })
  t.match(router.route(task(['c/1'])), { agent: 2, rule: 'highest_score' })
})

t.test('explains the best candidates first, up to the limit', async t => {
  const { router, world } = openRouter()
  for (let id = 1; id <= 20; id++) router.agentAdded(agent(id, { weighted_load: id }))
  const ids = (files: readonly string[], limit: number) => router.explain(task(files), limit).map(one => one.agent_id)
  t.same(ids([], 3), [1, 2, 3])
  world.owners.set('c/1', 9).set('c/2', 7)
  t.same(ids(['c/1', 'c/2'], 10), [7, 9], 'only candidates are explained')
  t.match(router.explain(task(['c/1']), 1), [{ agent_id: 9, agent_name: 'agent-9', score: 9.1 }])
  t.same(router.route(task(['c/1'])), { kind: 'agent', agent: 9, rule: 'highest_score', group: null })
})

t.test('an owner or group agent that has left is not a candidate', async t => {
  const { router, world } = openRouter()
  router.agentAdded(agent(1))
  world.owners.set('c/1', 77)
  world.groupAgents.set('a', 78)
  t.match(router.route(task(['c/1'])), { agent: 1, rule: 'fallback_single' })
  t.match(router.route(task(['a/1'])), { name: 'a', rule: 'spawn_for_group' })
})
