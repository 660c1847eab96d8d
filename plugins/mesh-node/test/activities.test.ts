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
import { openServer, type Received } from './http-server.ts'

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
      (activities as { readonly current: MeshActivities }).current.run({ ...REQUEST, ...request }, signal),
    forget: (key: string) => (activities as { readonly current: MeshActivities }).current.forget(key)
  }
}

/** A way to a control plane on which answers can be held back. */
async function openSlowWay(t: Test, { url }: Control) {
  let holds = (_call: Received): boolean => false
  const way = { url: '', held: 0, holdAnswers, release }
  const server = await openServer(t, async (call, response) => {
    const { method, path, body, headers } = call
    const isHeld = holds(call)
    const { authorization = '' } = headers
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(method === 'GET' ? null : { body: JSON.stringify(body) })
    })
    const content = await answer.text()
    if (isHeld) way.held += 1
    else response.writeHead(answer.status).end(content)
  })
  /** Holds back the answers to messages of one type; an empty type: to all calls of the path. */
  function holdAnswers(path: string, type: string): void {
    way.held = 0
    holds = call =>
      call.path.endsWith(path) && (type === '' || (call.body as { message_type?: string }).message_type === type)
  }
  function release(): void {
    holds = () => false
  }
  return Object.assign(way, { url: server.url })
}

let tests = 0
const REQUEST: MeshActivityRequest = {
  /** Each test has another step. */
  get key() {
    return `run-${tests} svc.mesh:a:1`
  },
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

/** The control plane of most tests, and a node that only sends steps. */
const control = await openControl(t, { settings: { http_rate_limit: false } })
const one = await open(t, control, { name: 'one', orchestrator: QUIET })

// Each test begins without other nodes, and without messages.
t.beforeEach(async () => {
  tests += 1
  for (const { id } of (await control.store.nodes.list('default')).nodes)
    if (id !== 'one') await control.store.nodes.remove('default', id)
  await control.store.trim('a2a:', 0)
})

t.test('control operations say what happened', async t => {
  await joined(control, 'one')
  t.same(await one.run({ operation: 'noop' }), { control: 'noop_ok', node_id: 'one' })
  t.same(await one.run({ operation: 'join' }), { control: 'join_ok', node_id: 'one' })
  t.same(await one.run({ operation: 'heartbeat' }), { control: 'heartbeat_ok', node_id: 'one' })
  const facts = { node_id: 'one', node_count: 1, schema_version: 1 }
  t.same(await one.run({ operation: 'snapshot' }), { control: 'snapshot_ok', ...facts })
})

t.test('without a control URL, the mesh is this node, which runs the bodies of jobs that fit its labels', async t => {
  const alone = await open(t, null, { name: 'alone', orchestrator: QUIET, mesh: { labels: ['gpu'] } })
  const local = { control: 'local_registry_only', node_id: 'alone' }
  t.same(await alone.run({ operation: 'noop' }), { ...local, control: 'noop_ok' })
  t.same(await alone.run({ operation: 'join' }), local)
  t.same(await alone.run({ operation: 'heartbeat' }), local)
  t.same(await alone.run({ operation: 'snapshot' }), { ...local, node_count: 1, schema_version: 1 })
  t.same(await alone.run({ labels: ['gpu'] }), local)
  await t.rejects(alone.run({ labels: ['gpu', 'big'] }), {
    code: 'MND_NO_NODE',
    message: /gpu, big: no control plane is configured; alone has gpu/
  })
})

t.test('a control operation that the control plane refuses rejects with its status', async t => {
  const wrong = await open(t, control, {
    name: 'wrong',
    orchestrator: QUIET,
    mesh: { token: 'wrong-token-of-the-mesh' }
  })
  for (const operation of ['join', 'heartbeat', 'snapshot', 'dispatch'] as const)
    await t.rejects(wrong.run({ operation }), { code: 'MND_HTTP_STATUS', message: /401/ }, operation)
})

t.test('a dispatched step runs on a node with its labels, and returns the result', async t => {
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
  const refused = await one.run({ labels: ['gpu', 'slow'], key: 'k2' }).catch((error: unknown) => error)
  t.match(refused, { code: 'MND_NO_NODE', message: /all of the labels gpu, slow: / })
  t.match(refused, { message: /gpu has gpu, fast/ })
  t.match(refused, { message: /plain has no labels/ })
  const long = 'k'.repeat(3_000)
  t.match(await one.run({ key: long, args: {} }), { control: 'dispatch_ok' }, 'without labels, any node runs it')
  for (const key of [REQUEST.key, 'k2', long]) await one.forget(key)
  await eventually(async () => ((await control.store.count('a2a:')) === 0 ? true : null))
})

t.test('a mesh without a node that runs work refuses a job at once', async t => {
  await joined(control, 'one')
  await t.rejects(one.run({}), {
    code: 'MND_NO_NODE',
    message: /no node runs work: one has no labels and runs no work/
  })
  t.equal(await control.store.count('a2a:'), 0)
})

t.test('a step that is requested again with its key is done once', async t => {
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
  const other = await open(t, control, { name: 'other', orchestrator: QUIET })
  t.match(await other.run({ labels: ['gpu'] }), { output: 'once' }, 'the result stays until the step is forgotten')
  await one.forget(REQUEST.key)
  t.equal(gpu.jobs.length, 1)
  t.equal(await control.store.count('a2a:'), 0)
})

t.test('a step that is requested again goes to the node that has its job, also if others fit by now', async t => {
  let finish = (_text: string): void => {}
  const run: Run = () =>
    new Promise(resolve => {
      finish = text => resolve({ result: text })
    })
  const first = await open(t, control, { name: 'first', orchestrator: WORKS, mesh: { labels: ['gpu'] }, run })
  await joined(control, 'first')
  const stopped = new AbortController()
  const step = one.run({ labels: ['gpu'] }, stopped.signal)
  await eventually(() => (first.jobs.length === 1 ? true : null))
  stopped.abort(new Error('the process ends'))
  await t.rejects(step)
  const others = []
  for (const name of ['a', 'b', 'c'])
    others.push(await open(t, control, { name, orchestrator: WORKS, mesh: { labels: ['gpu'] }, run }))
  await joined(control, 'a', 'b', 'c')
  const again = one.run({ labels: ['gpu'] })
  finish('done')
  t.match(await again, { output: 'done', node_id: 'first' })
  t.equal(first.jobs.length, 1)
  t.same(
    others.map(({ jobs }) => jobs.length),
    [0, 0, 0]
  )
})

t.test('a control plane that restarts while a step waits loses neither job nor result', async t => {
  const control = await openControl(t)
  const one = await open(t, control, { name: 'one', orchestrator: QUIET })
  let finish = (_text: string): void => {}
  const run: Run = () =>
    new Promise(resolve => {
      finish = text => resolve({ result: text })
    })
  const gpu = await open(t, control, { name: 'gpu', orchestrator: WORKS, run })
  await joined(control, 'gpu')
  const result = one.run({ timeoutMs: 600_000 })
  await eventually(() => (gpu.jobs.length === 1 ? true : null))
  await control.close()
  finish('done')
  await eventually(
    () => gpu.host.kernel.log.find(({ message }) => /reply could not be delivered/.test(message)) ?? null
  )
  await openControl(t, { file: control.store.location, port: control.port })
  t.match(await result, { output: 'done', node_id: 'gpu' })
  t.equal(gpu.jobs.length, 1)
})

t.test('a failed step rejects with the error of the node, and a late one is cancelled', async t => {
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
    message: 'the job failed on the node gpu: no memory'
  })
  const limit = new AbortController()
  const late = one.run({ key: 'k2' }, limit.signal)
  await eventually(() => (gpu.jobs.length === 2 ? true : null))
  limit.abort(new DOMException('too late', 'TimeoutError'))
  await t.rejects(late, { code: 'MND_JOB_LATE', message: /mesh_train: .*the node gpu has not finished the job/ })
  await eventually(() => (stopped.length === 1 ? true : null))
  t.match(stopped, [{ reason: 'cancelled' }])
  for (const key of [REQUEST.key, 'k2']) await one.forget(key)
  await eventually(async () => ((await control.store.count('a2a:')) === 0 ? true : null))
})

t.test('a job that no node takes in time is withdrawn, and the error says so', async t => {
  const gpu = await open(t, control, {
    name: 'gpu',
    orchestrator: WORKS,
    mesh: { labels: ['gpu'] },
    run: async () => ({ result: 'done' })
  })
  await joined(control, 'gpu')
  const record = (await control.store.nodes.find('default', 'gpu'))?.record ?? ''
  await gpu.host.close()
  // As if the node had been killed: its record stays for some time.
  await control.store.nodes.put('default', 'gpu', record, null)
  await t.rejects(one.run({ labels: ['gpu'] }, AbortSignal.timeout(2_000)), {
    code: 'MND_JOB_LATE',
    message: /the node gpu has not taken the job/
  })
  await one.forget(REQUEST.key)
  t.equal(await control.store.count('a2a:'), 0)
})

t.test('a time limit that ends while the job is being delivered withdraws the job', async t => {
  const stopped: unknown[] = []
  const run: Run = (_job, signal) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        stopped.push(signal.reason)
        reject(signal.reason as Error)
      })
    )
  const gpu = await open(t, control, { name: 'gpu', orchestrator: WORKS, mesh: { labels: ['gpu'] }, run })
  await joined(control, 'gpu')
  const slow = await openSlowWay(t, control)
  const far = await open(t, { ...control, url: slow.url }, { name: 'far', orchestrator: QUIET })
  slow.holdAnswers('/a2a/deliver', 'job_submit')
  const limit = new AbortController()
  const taken = far.run({ labels: ['gpu'] }, limit.signal)
  await eventually(() => (gpu.jobs.length === 1 && slow.held === 1 ? true : null))
  slow.release()
  limit.abort(new DOMException('too late', 'TimeoutError'))
  await t.rejects(taken, { code: 'MND_JOB_LATE', message: /mesh_train: .*the node gpu has not finished the job/ })
  await eventually(() => (stopped.length === 1 ? true : null))
  t.match(stopped, [{ reason: 'cancelled' }])
  await far.forget(REQUEST.key)
  await eventually(async () => ((await control.store.count('a2a:')) === 0 ? true : null))

  // As if the node had been killed: its record stays for some time.
  const record = (await control.store.nodes.find('default', 'gpu'))?.record ?? ''
  await gpu.host.close()
  await control.store.nodes.put('default', 'gpu', record, null)
  slow.holdAnswers('/a2a/deliver', 'job_submit')
  const second = new AbortController()
  const args = { job: 'nightly' }
  const alone = far.run({ labels: ['gpu'], key: 'k2', args }, second.signal)
  await eventually(() => (slow.held === 1 ? true : null))
  slow.release()
  second.abort(new DOMException('too late', 'TimeoutError'))
  await t.rejects(alone, { code: 'MND_JOB_LATE', message: /the node gpu has not taken the job/ })
  await far.forget('k2')
  t.equal(await control.store.count('a2a:'), 0)
})

t.test('a time limit that ends before a node is chosen rejects as late, and sends nothing', async t => {
  const slow = await openSlowWay(t, control)
  const far = await open(t, { ...control, url: slow.url }, { name: 'far', orchestrator: QUIET })
  await joined(control, 'far')
  slow.holdAnswers('/nodes', '')
  const limit = new AbortController()
  const late = far.run({ labels: ['gpu'] }, limit.signal)
  await eventually(() => (slow.held > 0 ? true : null))
  limit.abort(new DOMException('too late', 'TimeoutError'))
  await t.rejects(late, { code: 'MND_JOB_LATE', message: /mesh_train: .*no node has been chosen for the job/ })
  slow.release()
  t.equal(await control.store.count('a2a:'), 0)
})

t.test('a worker drops a job whose sender has gone, at the time limit of its step', async t => {
  const stopped: unknown[] = []
  const run: Run = (_job, signal) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        stopped.push(signal.reason)
        reject(signal.reason as Error)
      })
    )
  const gpu = await open(t, control, { name: 'gpu', orchestrator: WORKS, run })
  await joined(control, 'gpu')
  const gone = new AbortController()
  const step = one.run({ timeoutMs: 5_000 }, gone.signal)
  await eventually(() => (gpu.jobs.length === 1 ? true : null))
  gone.abort(new Error('the process ends'))
  await t.rejects(step)
  await eventually(() => (stopped.length === 1 ? true : null))
  t.match(stopped, [{ reason: 'cancelled', message: 'its time limit is over' }])
})

t.test('a workflow can dispatch a job and wait for it later', async t => {
  const gpu = await open(t, control, { name: 'gpu', orchestrator: WORKS, run: async () => ({ result: 'done' }) })
  await joined(control, 'gpu')
  const args = { job: 'nightly', model: 'Train it' }
  const started = await one.run({ args })
  t.match(started, { control: 'dispatch_ok', output: /^nightly@9\d{15}$/ })
  await one.forget(REQUEST.key)
  const wait = { operation: 'wait', args: { job: started?.output } } as const
  t.match(await one.run({ ...wait, key: 'k2' }), { control: 'wait_ok', output: 'done', node_id: 'gpu' })
  t.match(await one.run({ ...wait, key: 'k2' }), { output: 'done' }, 'requested again after a crash')
  t.match(gpu.jobs, [{ payload: { task_description: 'Train it', args } }])
  await one.forget('k2')
  t.equal(await control.store.count('a2a:'), 0)
  await t.rejects(one.run({ operation: 'wait', args: {} }), { code: 'MND_PAYLOAD_INVALID' })
  await t.rejects(one.run({ operation: 'wait', args: { job: 'nightly' } }), {
    code: 'MND_PAYLOAD_INVALID',
    hint: /the result of the step dispatch/
  })
  await t.rejects(one.run({ ...wait, key: 'k3' }, AbortSignal.timeout(500)), {
    code: 'MND_JOB_LATE',
    message: /nightly@9\d+ has no result/
  })
})

t.test('more steps than calls that may wait at a time get their results', async t => {
  const gpu = await open(t, control, {
    name: 'gpu',
    orchestrator: WORKS,
    node: { max_jobs: 64 },
    run: async ({ payload }) => ({ result: payload.task_description })
  })
  await joined(control, 'gpu')
  const steps = Array.from({ length: 50 }, (_, at) => `step ${at}`)
  const results = await Promise.all(steps.map(key => one.run({ key, args: { task: key } })))
  t.same(
    results.map(({ output }) => output),
    steps
  )
  t.equal(gpu.jobs.length, 50)
})
