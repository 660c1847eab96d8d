import { once } from 'node:events'
import { mock } from 'node:test'
import type { Orchestrator } from '@svc/contracts'
import t from 'tap'
import { Fleet, type FleetParts, stubProcessor } from '#root'

t.test('workers start for agents that the orchestrator took over from an ended process, without an event', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const agents = [{ id: 1 }]
  const requestedAgents = new Set<number>()
  const orchestrator = {
    subscribe: () => () => {},
    agents: () => agents,
    agent: () => null,
    rebalance: async () => 0,
    next: async (agent: number) => {
      requestedAgents.add(agent)
      return null
    },
    wake: async (_agent: number, signal: AbortSignal) => {
      if (!signal.aborted) await once(signal, 'abort')
    }
  }
  const stub = stubProcessor(() => false)
  const fleet = new Fleet({
    orchestrator: orchestrator as unknown as Orchestrator,
    log: { debug() {}, info() {}, warn() {}, error() {} } as unknown as FleetParts['log'],
    enabled: () => true,
    timeoutMs: () => 1_000,
    fallback: stub
  })
  fleet.use([stub])
  fleet.start()
  t.equal(fleet.workers, 1)
  agents.push({ id: 17 })
  mock.timers.tick(10_000)
  t.equal(fleet.workers, 2)
  t.ok(requestedAgents.has(17), 'tasks of the agent are claimed')
  await fleet.stop('the test ends')
  t.equal(fleet.workers, 0)
})
