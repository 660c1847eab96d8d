import { join } from 'node:path'
import t from 'tap'
import { DELEGATES, eventually, freshFolder, openControl, WORKS } from './bed.ts'
import { type FaultHost, localHost } from './fault-host.ts'
import { CuttableProxy, startControl, startHost } from './processes.ts'

// Only what is killed or stopped runs in a separate process.
const SHORT_LEASE = { a2a_lease_ms: 5_000 }
/** Tasks whose hold ends after this time return to the local queue. */
const LONG_HOLD = { ...DELEGATES, mesh_remote_lease_timeout_ms: 300_000 }

/** Waits until all tasks are completed, each once. */
async function completed(submitter: FaultHost, tasks: readonly number[]): Promise<void> {
  await eventually(
    async () => {
      const ended = submitter.ended.filter(({ task }) => tasks.includes(task))
      return ended.length >= tasks.length ? true : null
    },
    () => `${tasks.length} tasks ended, but only ${JSON.stringify(submitter.ended)}`
  )
}

function endsOf(submitter: FaultHost, tasks: readonly number[]): readonly string[] {
  return submitter.ended.filter(({ task }) => tasks.includes(task)).map(({ task, type }) => `${task} ${type}`)
}

t.test('a worker that is killed during the work is replaced, and the task completes once', async t => {
  const control = await openControl(t, { settings: SHORT_LEASE })
  const url = control.url
  const submitter = await localHost(t, { name: 'one', url, orchestrator: LONG_HOLD })
  const first = await startHost(t, { name: 'first', url, orchestrator: WORKS, workMs: 60_000 })
  const task = await submitter.submit()
  await eventually(() => first.began[0] ?? null)
  const second = await localHost(t, { name: 'second', url, orchestrator: WORKS, workMs: 0 })
  await first.kill()
  await completed(submitter, [task])
  t.same(endsOf(submitter, [task]), [`${task} task_completed`])
  t.match(second.began, [{ key: first.began[0]?.key }])
})

t.test('a worker that is killed and restarted continues with the task of its first run', async t => {
  const control = await openControl(t, { settings: { a2a_lease_ms: 600_000 } })
  const url = control.url
  const file = join(freshFolder(t), 'worker.db')
  const submitter = await localHost(t, { name: 'one', url, orchestrator: LONG_HOLD })
  const first = await startHost(t, { name: 'two', url, orchestrator: WORKS, file, workMs: 60_000 })
  const task = await submitter.submit()
  await eventually(() => first.began[0] ?? null)
  await first.kill()
  const again = await localHost(t, { name: 'two', url, orchestrator: WORKS, file, workMs: 0 })
  await completed(submitter, [task])
  t.same(endsOf(submitter, [task]), [`${task} task_completed`])
  t.equal((await again.tasks()).length, 1, 'the work was not submitted a second time')
})

t.test('a worker that is stopped past its lease delivers late, and its result has no second effect', async t => {
  const control = await openControl(t, { settings: SHORT_LEASE })
  const url = control.url
  const submitter = await localHost(t, { name: 'one', url, orchestrator: LONG_HOLD })
  const first = await startHost(t, { name: 'first', url, orchestrator: WORKS, workMs: 500 })
  const task = await submitter.submit()
  await eventually(() => first.began[0] ?? null)
  first.signal('SIGSTOP')
  const second = await localHost(t, { name: 'second', url, orchestrator: WORKS, workMs: 0 })
  await completed(submitter, [task])
  first.signal('SIGCONT')
  // A further task shows that the first worker lives and that the submitter has read everything before it.
  await second.close()
  const next = await submitter.submit()
  await completed(submitter, [next])
  t.same(endsOf(submitter, [task, next]), [`${task} task_completed`, `${next} task_completed`])
})

t.test('a control plane that is killed at random loses no task', async t => {
  const file = join(freshFolder(t), 'plane.db')
  let control = await startControl(t, { file, settings: { a2a_lease_ms: 5_000 } })
  const url = control.ready
  const port = Number(new URL(url).port)
  const submitter = await localHost(t, { name: 'one', url, orchestrator: LONG_HOLD })
  await localHost(t, { name: 'two', url, orchestrator: WORKS, workMs: 50 })
  const tasks: number[] = []
  for (const pause of [0, 150, 400, 900]) {
    tasks.push(await submitter.submit())
    await new Promise(resolve => setTimeout(resolve, pause))
    await control.kill()
    control = await startControl(t, { file, port, settings: { a2a_lease_ms: 5_000 } })
  }
  // A task that could not be placed while the plane was down stays in the local queue.
  const placed = await eventually(async () => {
    const views = (await submitter.tasks()).filter(({ id }) => tasks.includes(id))
    return views.every(({ status }) => status === 'Completed' || status === 'Queued') ? views : null
  })
  for (const { status, placement_reason } of placed)
    if (status === 'Queued') t.equal(placement_reason, 'local_queue_fallback_after_remote_relay_error')
  const ends = endsOf(submitter, tasks)
  t.equal(new Set(ends).size, ends.length, 'no task ended twice')
  t.ok(ends.every(end => end.endsWith('task_completed')))
})

t.test('a submitter that is killed after the placement finds the result after its restart', async t => {
  const control = await openControl(t, { settings: { a2a_lease_ms: 60_000 } })
  const url = control.url
  const file = join(freshFolder(t), 'submitter.db')
  const first = await startHost(t, { name: 'one', url, orchestrator: LONG_HOLD, file })
  const task = await first.submit()
  await eventually(async () => ((await first.tasks())[0]?.remote?.confirmed === true ? true : null))
  await first.kill()
  const remote = await localHost(t, { name: 'two', url, orchestrator: WORKS, workMs: 0 })
  await eventually(() => remote.ended[0] ?? null)
  const again = await localHost(t, { name: 'one', url, orchestrator: LONG_HOLD, file })
  await eventually(async () => {
    const found = (await again.tasks()).find(({ id }) => id === task)
    return found?.status === 'Completed' ? true : null
  })
  t.equal(remote.began.length, 1)
})

t.test('a worker behind a partition loses its task to another one, and its late result is dropped', async t => {
  const control = await openControl(t, { settings: SHORT_LEASE })
  const proxy = await CuttableProxy.open(t, control.port)
  const submitter = await localHost(t, { name: 'one', url: control.url, orchestrator: LONG_HOLD })
  const far = await localHost(t, { name: 'far', url: proxy.url, orchestrator: WORKS, workMs: 2_000 })
  const task = await submitter.submit()
  await eventually(() => far.began[0] ?? null)
  proxy.cut()
  const near = await localHost(t, { name: 'near', url: control.url, orchestrator: WORKS, workMs: 0 })
  await completed(submitter, [task])
  await near.close()
  proxy.heal()
  await eventually(() => (far.ended.length > 0 ? true : null))
  const next = await submitter.submit()
  await completed(submitter, [next])
  t.same(endsOf(submitter, [task, next]), [`${task} task_completed`, `${next} task_completed`])
})

t.test('a submitter behind a partition uses the result when it returns', async t => {
  const control = await openControl(t, { settings: { a2a_lease_ms: 60_000 } })
  const proxy = await CuttableProxy.open(t, control.port)
  const submitter = await localHost(t, { name: 'one', url: proxy.url, orchestrator: LONG_HOLD })
  const task = await submitter.submit()
  await eventually(async () => ((await submitter.tasks())[0]?.remote?.confirmed === true ? true : null))
  proxy.cut()
  const remote = await localHost(t, { name: 'two', url: control.url, orchestrator: WORKS, workMs: 0 })
  await eventually(() => remote.ended[0] ?? null)
  t.match(await submitter.tasks(), [{ status: 'InProgress' }])
  proxy.heal()
  await completed(submitter, [task])
  t.same(endsOf(submitter, [task]), [`${task} task_completed`])
})
