import {
  type MeshActivities,
  type MeshActivityRequest,
  meshActivities,
  type RemoteJob,
  remoteProcessor
} from '@svc/contracts'
import { definePlugin, ref } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { type Control, eventually, type HostOptions, openControl, openHost, WORKS } from './bed.ts'

type Run = (job: RemoteJob, signal: AbortSignal) => Promise<{ result: string }>

/** Opens a host with its mesh activities, and a processor of remote work if `run` is set. */
async function open(t: Test, control: Control | null, options: HostOptions & { readonly run?: Run }) {
  let activities: { readonly current: MeshActivities } | undefined
  const jobs: RemoteJob[] = []
  const probe = definePlugin({
    name: 'activities-probe',
    requires: { activities: ref(meshActivities) },
    activate(_ctx, deps) {
      activities = deps.activities
    }
  })
  const { run, ...host } = options
  const processor = definePlugin({
    name: 'processor',
    provides: [remoteProcessor],
    activate(ctx) {
      ctx.provide(remoteProcessor, {
        name: 'test',
        run(job, signal) {
          jobs.push(job)
          return (run as Run)(job, signal)
        }
      })
    }
  })
  const opened = await openHost(t, {
    ...host,
    url: control?.url,
    more: [probe, ...(run === undefined ? [] : [processor])]
  })
  return {
    host: opened,
    jobs,
    run: (request: Partial<MeshActivityRequest>, signal = new AbortController().signal) =>
      (activities as { readonly current: MeshActivities }).current.run({ ...REQUEST, ...request }, signal)
  }
}

const REQUEST: MeshActivityRequest = {
  key: 'run-1 svc.mesh:a:1',
  operation: 'dispatch',
  workflow: 'train',
  activity: 'mesh_train',
  labels: [],
  args: { task: 'Train the model', epochs: 3 },
  timeoutMs: 30_000
}
const QUIET = { ...WORKS, mesh_remote_worker_poll_interval_secs: 0 }

const joined = (control: Control, ...ids: readonly string[]) =>
  eventually(async () => {
    const nodes = (await control.store.nodes.list('default')).nodes.map(({ id }) => id)
    return ids.every(id => nodes.includes(id)) ? true : null
  })

t.test('control operations say what happened', async t => {
  const control = await openControl(t)
  const one = await open(t, control, { name: 'one', orchestrator: QUIET })
  await joined(control, 'one')
  t.same(await one.run({ operation: 'noop' }), { control: 'noop', node_id: 'one' })
  t.same(await one.run({ operation: 'join' }), { control: 'join_ok', node_id: 'one' })
  t.same(await one.run({ operation: 'heartbeat' }), { control: 'heartbeat_ok', node_id: 'one' })
  t.same(await one.run({ operation: 'snapshot' }), { control: 'snapshot_ok', node_count: 1, schema_version: 1 })
  const alone = await open(t, null, { name: 'alone', orchestrator: QUIET })
  t.same(await alone.run({ operation: 'snapshot' }), { control: 'local_registry_only', node_id: 'alone' })
})

t.test('a dispatched step runs on a node with its labels, and returns the result', async t => {
  const control = await openControl(t)
  const one = await open(t, control, { name: 'one', orchestrator: QUIET })
  const plain = await open(t, control, { name: 'plain', orchestrator: WORKS, run: async () => ({ result: 'plain' }) })
  const gpu = await open(t, control, {
    name: 'gpu',
    orchestrator: WORKS,
    mesh: { labels: ['gpu', 'fast'] },
    run: async ({ payload }) => ({ result: `trained: ${payload.task_description}` })
  })
  await joined(control, 'plain', 'gpu')
  t.same(await one.run({ labels: ['gpu'] }), {
    control: 'dispatch_ok',
    output: 'trained: Train the model',
    node_id: 'gpu'
  })
  t.match(gpu.jobs[0], { payload: { activity: 'mesh_train', args: { epochs: 3 } }, envelope: null })
  t.equal(plain.jobs.length, 0)
  await t.rejects(one.run({ labels: ['gpu', 'slow'], key: 'k2' }), { code: 'MND_NO_NODE', message: /gpu, slow/ })
  t.match(await one.run({ key: 'k3', args: {} }), { control: 'dispatch_ok' }, 'without labels, any node runs it')
  await eventually(async () => ((await control.store.count('a2a:')) === 0 ? true : null))
})

t.test('a step that is requested again with its key is done once', async t => {
  const control = await openControl(t)
  const one = await open(t, control, { name: 'one', orchestrator: QUIET })
  let finish = (_text: string): void => {}
  const run: Run = () =>
    new Promise(resolve => {
      finish = text => resolve({ result: text })
    })
  const gpu = await open(t, control, { name: 'gpu', orchestrator: WORKS, mesh: { labels: ['gpu'] }, run })
  await joined(control, 'gpu')
  const stopped = new AbortController()
  const first = one.run({ labels: ['gpu'] }, stopped.signal)
  await eventually(() => (gpu.jobs.length === 1 ? true : null))
  stopped.abort(new Error('the process ends'))
  await t.rejects(first)
  const again = one.run({ labels: ['gpu'] })
  finish('once')
  t.match(await again, { output: 'once' })
  t.equal(gpu.jobs.length, 1)
})

t.test('a failed step rejects with the error of the node, and a late one is cancelled', async t => {
  const control = await openControl(t)
  const one = await open(t, control, { name: 'one', orchestrator: QUIET })
  const stopped: unknown[] = []
  const run: Run = (job, signal) =>
    job.payload.task_description === 'fail'
      ? Promise.reject(new Error('no memory'))
      : new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            stopped.push(signal.reason)
            reject(signal.reason as Error)
          })
        )
  const gpu = await open(t, control, { name: 'gpu', orchestrator: WORKS, run })
  await joined(control, 'gpu')
  await t.rejects(one.run({ args: { task: 'fail' } }), {
    code: 'MND_PROCESSOR_FAILED',
    message: 'no memory'
  })
  const limit = new AbortController()
  const late = one.run({ key: 'k2' }, limit.signal)
  await eventually(() => (gpu.jobs.length === 2 ? true : null))
  limit.abort(new DOMException('too late', 'TimeoutError'))
  await t.rejects(late)
  await eventually(() => (stopped.length === 1 ? true : null))
})

t.test('a workflow can dispatch a job and wait for it later', async t => {
  const control = await openControl(t)
  const one = await open(t, control, { name: 'one', orchestrator: QUIET })
  await open(t, control, { name: 'gpu', orchestrator: WORKS, run: async () => ({ result: 'done' }) })
  await joined(control, 'gpu')
  const args = { task: 'Train', job: 'nightly' }
  t.same(await one.run({ args }), { control: 'dispatch_ok', output: 'train:nightly' })
  t.match(await one.run({ operation: 'wait', key: 'k2', args }), { control: 'wait_ok', output: 'done', node_id: 'gpu' })
  await t.rejects(one.run({ operation: 'wait', args: {} }), { code: 'MND_PAYLOAD_INVALID' })
})
