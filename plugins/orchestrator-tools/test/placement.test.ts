import { remotePlacers, statusSections } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { openWorld } from './open-world.ts'

/** Plugin that places the tasks whose description begins with `Remote`, except for those that it cannot place. */
const placer = definePlugin({
  name: 'placer',
  activate(ctx) {
    ctx.contribute(remotePlacers, {
      name: 'placer',
      wants: ({ description }) => description.startsWith('Remote'),
      place: async ({ description }) => {
        if (description.includes('unreachable')) throw new Error('connect ECONNREFUSED')
        return { lease_id: '12', mesh_node_id: 'gpu-1', claimer_node_id: 'orch-host' }
      }
    })
    ctx.contribute(statusSections, { key: 'slow', read: () => new Promise(() => {}) })
  }
})

t.test('the submit tool, the status and the explanation show where a task runs, and why', async t => {
  const { tool } = await openWorld(t, { more: [placer as Plugin] })
  const submit = (description: string) => tool('submit_task', { description, files: [], agent_name: description })
  t.match(await submit('Remote'), { data: { task_id: 1, status: 'InProgress' } })
  t.match(await submit('Remote, unreachable'), { data: { task_id: 2, status: 'Queued' } })
  t.match(await submit('Local'), { data: { task_id: 3, status: 'Queued' } })
  t.match(await tool('task_details', { task_id: 1 }), {
    data: { id: 1, placement_reason: 'mesh_remote_lease_hold', remote: { lease_id: '12', mesh_node_id: 'gpu-1' } }
  })
  t.match(await tool('explain_task', { task_id: 1 }), {
    data: {
      placement: {
        surface: 'remote',
        reason: 'mesh_remote_lease_hold',
        delegate: { lease_id: '12', mesh_node_id: 'gpu-1', claimer_node_id: 'orch-host' }
      },
      text: /^Runs: on another machine\. The task runs on gpu-1 with lease 12, placed by placer\.$/m
    }
  })
  t.match(await tool('explain_task', { task_id: 2 }), {
    data: {
      placement: { surface: 'local', reason: 'local_queue_fallback_after_remote_relay_error' },
      text: /^Runs: locally\. Another machine did not do the task: connect ECONNREFUSED\.$/m
    }
  })
  t.match(await tool('explain_task', { task_id: 3 }), {
    data: { text: /^Runs: locally\. No plugin asked to place the task on another machine\.$/m }
  })
})

t.test('the explanation of a task that stays here names its role and the setting that lacks it', async t => {
  const settings = {
    mesh_remote_execute_experimental: true,
    mesh_remote_lease_gating_enabled: true,
    mesh_remote_lease_gated_roles: ['builder']
  }
  const { tool } = await openWorld(t, { settings })
  await tool('submit_task', { description: 'Think', files: [] })
  await tool('submit_task', { description: 'Build', files: [], task_category: 'Parsing' })
  const hint = /^Its role is planner, which mesh_remote_lease_gated_roles in \[orchestrator\] does not list\.$/m
  t.match(await tool('explain_task', { task_id: 1 }), { data: { text: hint } })
  t.notMatch(((await tool('explain_task', { task_id: 2 })).data as { readonly text: string }).text, 'Its role is')
})

t.test('a section of the status that never answers contains an error; the others are complete', async t => {
  const { tool } = await openWorld(t, { more: [placer as Plugin] })
  t.match(await tool('orchestrator_status'), {
    data: { slow: { ok: false, error: 'no result within 2000 ms' }, planning: { enabled: Boolean } }
  })
})
