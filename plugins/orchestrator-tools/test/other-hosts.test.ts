import { hostname } from 'node:os'
import { type ForeignTask, orchestrationErrors, type TaskViewSource, taskViewSources } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import type { TaskRow } from '#feeds'
import { openWorld, type World } from './open-world.ts'

const COUNTS = { Queued: 0, InProgress: 1, Blocked: 0, BlockedOnApproval: 0, Doubted: 0 }

/** Opens the tools with a plugin that shows task 1 of the hosts `north` and `south`. */
async function openHosts(t: Test, change: Partial<TaskViewSource> = {}): Promise<World & { readonly acts: unknown[] }> {
  const acts: unknown[] = []
  const held = (host: string): ForeignTask =>
    ({
      id: 1,
      description: `Work on ${host}`,
      status: { kind: 'InProgress' },
      priority: 'Normal',
      agent_id: 9,
      files: [],
      depends_on: [],
      complexity: 5,
      category: 'General',
      role: 'planner',
      created_at_ms: 1,
      trace_id: 't',
      placement_reason: 'local_queue_default',
      debug_iterations: 0,
      stubcheck_iterations: 0,
      qgate_iterations: 0,
      retry_count: 0,
      handoff_count: 0,
      recoveries: 0,
      process: { host, pid: null, seat: null, alive: true, own: false }
    }) as ForeignTask
  const all = [held('north'), held('south')]
  const source: TaskViewSource = {
    id: 'hosts',
    list: async ({ task, status }) =>
      all.filter(each => (task ?? 1) === each.id && (status ?? 'InProgress') === each.status.kind),
    processes: async () =>
      all.map(({ process }) => ({
        ...process,
        agents: 1,
        open: COUNTS,
        ended: { completed: 5, failed: 0, cancelled: 0 }
      })),
    async act({ id, process }, verb, args, { principal }) {
      if (verb === 'fail') throw orchestrationErrors.create('ORC_TRANSITION', `Task T-0001 is held by ${process.host}`)
      acts.push([id, process.host, verb, args, principal.id])
      return { ok: true, message: `done on ${process.host}` }
    },
    ...change
  }
  const hosts = definePlugin({
    name: 'hosts',
    activate: ctx => ctx.contribute(taskViewSources, source, 'tasks of other hosts')
  })
  const world = await openWorld(t, { more: [hosts as Plugin] })
  return Object.assign(Object.create(world), { acts }) as World & { readonly acts: unknown[] }
}

const submit = (world: World) => world.orchestrator.submit({ description: 'Mine', files: [], agent_name: 'near' })

t.test('tasks that a plugin shows of other hosts are listed with those of this process', async t => {
  const world = await openHosts(t)
  await submit(world)
  t.match(await world.tool('queue_status'), {
    data: {
      total_queued: 1,
      total_in_progress: 2,
      total_completed: 10,
      tasks: [
        { task_id: 1, description: 'Mine', process: { own: true } },
        { task_id: 1, holder: 'north', process: { own: false, pid: null } },
        { task_id: 1, holder: 'south' }
      ]
    }
  })
  t.match(await world.tool('orchestrator_status'), {
    data: { text: /Process north: 1 agents, 0 queued, 1 in progress[^\n]*\nProcess south/ }
  })
  const delta = (await world.kernel.callById('orchestrator.tasks.feed', {})) as { readonly upsert: readonly TaskRow[] }
  t.same(delta.upsert.map(({ key }) => key).toSorted(), ['1', '1@north', '1@south'])
})

t.test('a number with a host names the task of that host', async t => {
  const world = await openHosts(t)
  t.match(await world.tool('task_details', { task_id: 1 }), {
    success: false,
    error: /^Task T-0001 is ambiguous: north, south/,
    remediation: /T-0001@north/
  })
  await submit(world)
  t.match(await world.tool('task_details', { task_id: 1 }), { data: { description: 'Mine' } })
  t.match(await world.tool('task_details', { task_id: `1@${hostname()}` }), { data: { description: 'Mine' } })
  t.match(await world.tool('task_details', { task_id: 'T-0001@south' }), { data: { description: 'Work on south' } })
  t.match(await world.tool('explain_task', { task_id: '1@south' }), { success: false, error: /no longer stored/ })
  t.match(await world.kernel.callById('orchestrator.tasks.record', { task_id: '1@north' }), {
    key: '1@north',
    process: 'north',
    own: false
  })
  for (const task_id of ['1@', '1@a b', '1@../x', `1@${'x'.repeat(254)}`])
    t.match(await world.tool('task_details', { task_id }), { success: false, meta: { code: 'OPR_INPUT_INVALID' } })
})

t.test('a change goes to the host that the reference names, and never to the local task with that number', async t => {
  const world = await openHosts(t)
  await submit(world)
  t.same(await world.tool('cancel_task', { task_id: '1@north' }), { success: true, data: 'done on north' })
  t.match(await world.tool('fail_task', { task_id: '1@south', reason: 'x' }), {
    success: false,
    error: /held by south/
  })
  t.match(await world.tool('cancel_task', { task_id: '1@west' }), { success: false, error: /not found on west/ })
  t.match(await world.tool('cancel_task', { task_id: '7@west' }), { success: false, error: /not found on west/ })
  t.same(world.acts, [[1, 'north', 'cancel', {}, 'tester']])
  t.equal(world.orchestrator.task(1)?.status.kind, 'Queued')
  t.match(await world.tool('cancel_task', { task_id: 1 }), { data: 'task cancelled' })
  t.equal(world.orchestrator.task(1)?.status.kind, 'Cancelled')
})

t.test('a source that fails is reported with the tasks of the others', async t => {
  const world = await openHosts(t, {
    list: async () => {
      throw new Error('the control plane does not respond')
    }
  })
  await submit(world)
  t.match(await world.tool('queue_status'), {
    success: true,
    data: {
      incomplete: 'Tasks of other processes are missing: hosts: the control plane does not respond',
      tasks: [{ description: 'Mine' }]
    }
  })
  t.match(await world.tool('task_details', { task_id: 1 }), { data: { description: 'Mine' } })
})
