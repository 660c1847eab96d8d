import { type AgentFleet, agentFleet } from '@svc/contracts'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import fleetPlugin from '#plugin'
import { modelScript } from './model-script.ts'
import { eventually, openFleet } from './open-fleet.ts'

const endedOf = (tasks: { status(): { total_completed: number; total_failed: number } }) => {
  const { total_completed, total_failed } = tasks.status()
  return total_completed + total_failed
}

t.test('a reload during the work loses and fails no task', async t => {
  const model = await modelScript(t)
  const opened = await openFleet(t, { url: model.url })
  const ids = []
  for (let index = 0; index < 12; index += 1) ids.push(await opened.submit({ agent_name: `agent-${index % 3}` }))
  for (let reloads = 0; reloads < 3; reloads += 1) {
    const before = model.requests.length
    await eventually(() => (model.requests.length > before || endedOf(opened.tasks) === ids.length ? true : null))
    await opened.kernel.replace({ ...fleetPlugin })
  }
  t.ok(opened.fleet.running, 'the new fleet is running')
  for (const id of ids) t.equal((await opened.until(id, 'Completed', 'Failed')).status.kind, 'Completed')
  t.notOk(opened.eventTypes().includes('task_failed'))
})

t.test('tasks are completed even if the orchestrator is replaced', async t => {
  const model = await modelScript(t)
  const opened = await openFleet(t, { url: model.url })
  const ids = [await opened.submit(), await opened.submit()]
  await eventually(() => (model.requests.length > 1 ? true : null))
  await opened.kernel.replace({ ...orchestratorPlugin } as Plugin)
  for (const id of ids) t.equal((await opened.until(id, 'Completed', 'Failed')).status.kind, 'Completed')
})

t.test('stopping the fleet queues the current tasks of its agents again', async t => {
  const model = await modelScript(t, { respond: () => () => {} })
  const opened = await openFleet(t, { url: model.url })
  const task = await opened.submit()
  await eventually(() => (model.requests.length > 0 ? true : null))
  const idle: AgentFleet = { running: false, workers: 0, processors: [], start() {} }
  const replacement = definePlugin({
    name: 'agent-fleet',
    provides: [agentFleet],
    activate: ctx => ctx.provide(agentFleet, idle)
  })
  await opened.kernel.replace(replacement)
  t.match(await opened.until(task, 'Queued'), { recoveries: 0 })
  await eventually(() => (model.aborted > 0 ? true : null))
})

t.test('a processor of another plugin runs the tasks it accepts; unloading it queues them again', async t => {
  let runs = 0
  const processor = {
    name: 'hands',
    rank: 10,
    takes: ({ description }: { description: string }) => description.startsWith('Carry'),
    run: () => {
      runs += 1
      return new Promise<never>(() => {})
    }
  }
  const { submit, until, kernel, fleet, tasks } = await openFleet(t, { processors: [processor] })
  t.same(fleet.processors, ['hands', 'ai', 'stub'])
  const task = await submit({ description: 'Carry the box' })
  await until(task, 'InProgress')
  await eventually(() => (runs === 1 ? true : null))
  await kernel.replace(definePlugin({ name: 'others', activate() {} }))
  await eventually(() => (fleet.processors.length === 2 ? true : null))
  await eventually(() => (tasks.explain(task)?.trace.some(({ stage }) => stage === 'released') ? true : null))
  await until(task, 'InProgress')
})
