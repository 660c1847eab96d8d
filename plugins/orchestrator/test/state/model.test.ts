import { ok, strictEqual } from 'node:assert/strict'
import type { Priority } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { countOf, Records, type Task } from '#state'
import { openTestOrchestrator, type TestOrchestrator } from '../service/test-orchestrator.ts'
import { assertInvariants } from './invariants.ts'

type Step = (orchestrator: TestOrchestrator) => unknown

const priorities: readonly Priority[] = ['Background', 'Normal', 'Urgent']
const id = fc.integer({ min: 1, max: 12 })
const agent = fc.integer({ min: 1, max: 4 })
const file = fc.record({ path: fc.constantFrom('a.ts', 'b/c.ts', 'b/d.ts'), access: fc.constantFrom('read', 'write') })

const submits: fc.Arbitrary<Step> = fc
  .record({
    priority: fc.constantFrom(...priorities),
    files: fc.array(file, { maxLength: 2 }),
    depends_on: fc.array(id, { maxLength: 2 }),
    agent_name: fc.option(fc.constantFrom('one', 'two', 'three'), { nil: undefined }),
    requires_approval: fc.boolean(),
    complexity: fc.integer({ min: 1, max: 10 })
  })
  .map(({ agent_name, requires_approval, complexity, depends_on, ...rest }) => ({ service }: TestOrchestrator) => {
    const known = depends_on.filter(each => service.task(each) !== null)
    return service.submit({
      description: 'Do something',
      ...rest,
      depends_on: known,
      ...(agent_name === undefined ? {} : { agent_name }),
      hints: { complexity, requires_approval: requires_approval && complexity > 7 }
    })
  })

const takesNextTask: fc.Arbitrary<Step> = agent.map(each => async ({ service, world }) => {
  const best = firstOf(world.agents.get(each)?.queue.values() ?? [])
  const isFree = world.agents.get(each)?.current === null && world.agents.get(each)?.paused === false
  const task = await service.next(each)
  if (isFree && best !== null && best.files.length === 0)
    strictEqual(task?.id, best.id, 'next returns the first task of the highest priority')
})

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: submits },
  { weight: 4, arbitrary: takesNextTask },
  {
    weight: 3,
    arbitrary: id.map(
      each =>
        ({ service }: TestOrchestrator) =>
          service.complete(each, { checks_passed: ['x'] })
    )
  },
  {
    weight: 2,
    arbitrary: id.map(
      each =>
        ({ service }: TestOrchestrator) =>
          service.fail(each, 'it broke')
    )
  },
  id.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.cancel(each)
  ),
  id.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.retry(each)
  ),
  id.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.doubt(each, 'odd')
  ),
  fc.tuple(id, fc.constantFrom('validated', 'overruled')).map(
    ([each, how]) =>
      ({ service }: TestOrchestrator) =>
        service.resolveDoubt(each, how, 'looked at')
  ),
  id.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.approve(each, 'Ada')
  ),
  fc.tuple(id, fc.constantFrom(...priorities)).map(
    ([each, priority]) =>
      ({ service }: TestOrchestrator) =>
        service.reorder(each, priority)
  ),
  agent.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.drainAgent(each)
  ),
  agent.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.retireAgent(each)
  ),
  agent.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.pauseAgent(each)
  ),
  agent.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.resumeAgent(each)
  ),
  agent.map(
    each =>
      ({ service }: TestOrchestrator) =>
        service.spawnAgent({ name: 'spare', dynamic: each % 2 === 0 })
  ),
  fc.constant(({ service }: TestOrchestrator) => service.rebalance()),
  fc
    .tuple(agent, agent, fc.array(id, { maxLength: 3 }))
    .map(([from, to, pending]) => ({ service }: TestOrchestrator) => {
      const own = pending.filter(each => service.task(each)?.agent_id === from)
      return service.handoff({
        from_agent: from,
        to_agent: to,
        plan_summary: 'the rest',
        pending_tasks: own,
        owned_files: ['a.ts'],
        verification_criteria: ['it works'],
        metadata: [['execution_role', 'builder']]
      })
    }),
  fc.integer({ min: 1, max: 2_000_000 }).map(elapsedMs => async (open: TestOrchestrator) => {
    open.advanceClock(elapsedMs)
    await open.tick()
  }),
  agent.map(
    each =>
      async ({ service }: TestOrchestrator) =>
        service.heartbeat(each, 'thinking')
  )
)

t.test('the invariants hold after any sequence of commands', async t => {
  let succeeded = 0
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 30, maxLength: 120, size: 'max' }), async run => {
      const teardowns: (() => unknown)[] = []
      const open = await openTestOrchestrator(
        { teardown: each => teardowns.push(each) },
        { settings: { tier_enforcement: false } }
      )
      try {
        for (const step of run) {
          try {
            await step(open)
            succeeded += 1
          } catch (error) {
            if (!isSvcError(error) || !error.code.startsWith('ORC_')) throw error
          }
          assertInvariants(open.world)
        }
        await assertRecoverable(open)
      } finally {
        for (const each of teardowns.reverse()) await each()
      }
    }),
    { numRuns: 100 }
  )
  t.ok(succeeded > 2_000, `${succeeded} commands succeeded`)
})

/**
 * Restores the records of an orchestrator in a new one. Asserts the invariants, the status and recoveries of each task,
 * and equal totals. Tasks in progress are queued again.
 */
async function assertRecoverable(open: TestOrchestrator): Promise<void> {
  const teardowns: (() => unknown)[] = []
  const other = await openTestOrchestrator(
    { teardown: each => teardowns.push(each) },
    { settings: { tier_enforcement: false } }
  )
  try {
    const from = new Records(open.world)
    const to = new Records(other.world)
    for (const task of open.world.tasks.keys())
      to.restore('task', String(task), from.serialise('task', String(task)) ?? '')
    for (const each of open.world.agents.keys())
      to.restore('agent', String(each), from.serialise('agent', String(each)) ?? '')
    for (const { path } of open.world.locks.views()) to.restore('lock', path, from.serialise('lock', path) ?? '')
    for (const each of open.world.agents.keys())
      for (const path of open.world.files.filesOf(each)) to.restore('file_owner', path, String(each))
    to.restore('meta', 'totals', from.serialise('meta', 'totals') ?? '')
    to.recovered()
    assertInvariants(other.world)
    for (const task of open.world.tasks.values()) {
      const restored = other.world.tasks.get(task.id)
      ok(restored !== undefined)
      const wasInProgress = task.status.kind === 'InProgress'
      strictEqual(restored.status.kind, wasInProgress ? 'Queued' : task.status.kind)
      strictEqual(countOf(restored, 'recoveries'), countOf(task, 'recoveries') + (wasInProgress ? 1 : 0))
    }
    strictEqual(JSON.stringify(other.world.totals), JSON.stringify(open.world.totals))
  } finally {
    for (const each of teardowns.reverse()) await each()
  }
}

function firstOf(tasks: Iterable<Task>): Task | null {
  const order = [...priorities].reverse()
  const sorted = [...tasks].sort(
    (one, other) =>
      order.indexOf(one.priority) - order.indexOf(other.priority) ||
      one.createdAt - other.createdAt ||
      one.id - other.id
  )
  return sorted[0] ?? null
}
