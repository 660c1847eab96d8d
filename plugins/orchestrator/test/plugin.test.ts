import { type Orchestrator, orchestrator as orchestratorToken, type TaskEnd, taskEnded } from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import '../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import plugin from '#plugin'

const DONE = { checks_passed: ['tests'] }
const task = { description: 'Do it', files: [] }
const settings = (more: object = {}) => ({ orchestrator: { stubcheck_gate: false, ...more } })

function probe(ends: TaskEnd[]) {
  let held: { readonly current: Orchestrator } | undefined
  const plugin = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken) },
    activate(ctx, deps) {
      held = deps.tasks
      ctx.on(taskEnded, end => void ends.push(end))
    }
  })
  return { plugin, orchestrator: () => held?.current as Orchestrator }
}

async function until<A>(look: () => A | null | undefined | false): Promise<A> {
  const deadline = Date.now() + 30_000
  for (;;) {
    const found = look()
    if (found) return found
    if (Date.now() > deadline) throw new Error('the condition was not met in time')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

t.test('works in memory without a database, reports that, and reports the ends of tasks', async t => {
  const ends: TaskEnd[] = []
  const { plugin: looking, orchestrator } = probe(ends)
  const kernel = await testKernel([plugin, looking] as Plugin[], { settings: settings() })
  t.teardown(() => kernel.close())
  t.match(orchestrator().durability, { kind: 'memory', because: 'no database is attached' })
  await orchestrator().submit(task)
  await orchestrator().complete(1, DONE)
  await until(() => ends.length > 0)
  t.match(ends, [{ task_id: 1, outcome: 'completed' }])
  t.match(orchestrator().policy, { planning: { adequacy_shadow: true, depth: 'standard' }, llm_cost_events: true })
})

t.test('a reload preserves the whole state, with and without a database', async t => {
  for (const others of [[], [database]]) {
    const { plugin: looking, orchestrator } = probe([])
    const kernel = await testKernel([...others, plugin, looking] as Plugin[], { settings: settings() })
    t.teardown(() => kernel.close())
    const before = orchestrator()
    await before.submit(task)
    await before.submit({ ...task, agent_name: 'other' })
    await before.next(1)
    const signal = before.taskSignal(1)
    await kernel.replace(plugin as Plugin)
    t.not(orchestrator(), before)
    t.match(orchestrator().task(1), { status: { kind: 'InProgress' }, recoveries: 0 })
    t.match(orchestrator().agents(), [{ name: 'default', current_task: 1 }, { name: 'other' }])
    t.notOk(signal.aborted)
    // The event of a started task is published once the start is durable; no caller waits for that.
    await until(() => orchestrator().recentEvents().length >= 5)
    t.match(
      orchestrator()
        .recentEvents()
        .map(({ id }) => id),
      [1, 2, 3, 4, 5]
    )
    t.equal((await orchestrator().submit(task)).task_id, 3)
    t.equal((await before.submit(task)).task_id, 4, 'the service object of the previous unit calls the current one')
    await orchestrator().complete(1, DONE)
    t.ok(signal.aborted)
  }
})

t.test('rejects contradictory settings, and names both', async t => {
  for (const [wrong, other] of [
    [{ min_agents: 9 }, 'max_agents'],
    [{ planning_replan_enabled: true }, 'planning_enabled'],
    [{ trust_provisional_threshold: 30 }, 'trust_trusted_threshold']
  ] as const) {
    const opening = testKernel([plugin] as Plugin[], { settings: settings(wrong) })
    await t.rejects(opening, { message: new RegExp(`${Object.keys(wrong)[0]} and ${other} contradict`) })
  }
})
