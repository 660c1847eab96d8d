import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Attestation, TaskProcessor } from '@svc/contracts'
import t, { type Test } from 'tap'
import { MeshClient } from '#root'
import { freePort } from '../../../test/free-port.ts'
import { type Control, DELEGATES, eventually, type Host, openControl, openHost, TOKEN, WORKS, worker } from './bed.ts'

const SHORT_LEASE = { a2a_lease_ms: 6_000 }

/** A processor that works until the test finishes it, or its task is cancelled. */
function slow() {
  let finish = (_text: string): void => {}
  const aborted: unknown[] = []
  const processor = worker((_task, signal) => {
    return new Promise((resolve, reject) => {
      finish = resolve
      signal.addEventListener('abort', () => {
        aborted.push(signal.reason)
        reject(signal.reason as Error)
      })
    })
  })
  return { processor, aborted, finish: (text: string) => finish(text) }
}

function clientOf(url: string): MeshClient {
  return new MeshClient({
    settings: { controlUrls: [url], token: () => TOKEN },
    controlUrl: () => null,
    timeoutMs: () => 10_000
  })
}

const held = (host: Host, task: number) =>
  eventually(() => {
    const view = host.tasks.task(task)
    return view?.remote?.confirmed === true ? view : null
  })

/** Resolves when the control plane has neither messages nor leases. */
async function isClean({ store }: Control): Promise<true> {
  return eventually(async () => {
    const [leases, messages] = [await store.leases('default'), await store.count('a2a:')]
    return leases.length === 0 && messages === 0 ? true : null
  })
}

t.test('a task of one host runs on another one, and its result completes it', async t => {
  const control = await openControl(t)
  const fleet = worker()
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const remote = await openHost(t, {
    name: 'two',
    url: control.url,
    orchestrator: WORKS,
    processors: [fleet],
    fleet: true
  })
  const task = await submitter.submit({ description: 'Write a greeting for Ada', priority: 'Urgent' })
  const view = await eventually(() => {
    const found = submitter.tasks.task(task)
    return found?.remote?.confirmed === true || found?.status.kind === 'Completed' ? found : null
  })
  t.equal(view.placement_reason, 'mesh_remote_lease_hold')
  t.match(view.remote, { claimer_node_id: 'orch-one', message_id: Number, lease_id: /^\d+$/ })
  const done = await submitter.until(task, 'Completed', 'Failed')
  t.equal(done.status.kind, 'Completed')
  t.equal(done.remote?.mesh_node_id, 'two')
  t.equal(fleet.seen.length, 1)
  t.match(fleet.seen[0], {
    description: 'Write a greeting for Ada',
    priority: 'Urgent',
    remote_origin: { task_id: task, submitter_node_id: 'orch-one' }
  })
  t.equal(remote.tasks.tasks()[0]?.completion_summary, 'did: Write a greeting for Ada')
  t.ok(await isClean(control))
})

t.test('a failure on the other host fails the task with its error', async t => {
  const control = await openControl(t)
  const failing = worker(async () => {
    throw new Error('the pen is broken')
  })
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS, processors: [failing], fleet: true })
  const task = await submitter.submit()
  const { status } = await submitter.until(task, 'Completed', 'Failed')
  t.match(status, { kind: 'Failed', reason: /the pen is broken/ })
  t.ok(await isClean(control))
})

t.test('a task that came from another host is not delegated again', async t => {
  const control = await openControl(t)
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const both = await openHost(t, {
    name: 'two',
    url: control.url,
    orchestrator: { ...DELEGATES, ...WORKS },
    processors: [worker()],
    fleet: true
  })
  const task = await submitter.submit()
  t.equal((await submitter.until(task, 'Completed', 'Failed')).status.kind, 'Completed')
  t.equal(both.tasks.tasks()[0]?.placement_reason, 'local_queue_default')
})

t.test('roles that the settings do not name stay in the local queue', async t => {
  const control = await openControl(t)
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const task = await submitter.submit({ hints: { execution_role: 'verifier' } })
  t.match(submitter.tasks.task(task), { status: { kind: 'Queued' }, placement_reason: 'local_queue_default' })
  t.equal((await control.store.leases('default')).length, 0)
})

t.test('a cancelled task is cancelled on the other host, which learns it within a third of the lease', async t => {
  const control = await openControl(t, { settings: SHORT_LEASE })
  const { processor, aborted } = slow()
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const remote = await openHost(t, {
    name: 'two',
    url: control.url,
    orchestrator: WORKS,
    processors: [processor],
    fleet: true
  })
  const task = await submitter.submit()
  await eventually(() => processor.seen[0] ?? null)
  await eventually(() => (submitter.tasks.task(task)?.remote?.mesh_node_id === 'two' ? true : null))
  await submitter.tasks.cancel(task)
  await eventually(() => (aborted.length > 0 ? true : null))
  const [copy] = remote.tasks.tasks()
  t.equal(copy?.status.kind, 'Cancelled')
  t.equal(submitter.tasks.task(task)?.status.kind, 'Cancelled')
  t.ok(await isClean(control))
})

t.test('a task whose lease is revoked runs locally, and a late result of the other host is dropped', async t => {
  const control = await openControl(t, { settings: SHORT_LEASE })
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const task = await submitter.submit()
  const { remote } = await held(submitter, task)
  const client = clientOf(control.url)
  const { messages } = await client.inbox({ receiver_agent_id: '2', claimer_node_id: 'orch-one' })
  t.equal(messages.length, 1, 'a node that works by hand has claimed the envelope')
  await client.revoke(remote?.lease_id as string)
  const local = await submitter.until(task, 'Queued')
  t.equal(local.placement_reason, 'local_queue_fallback_after_remote_relay_error')
  const late = { idempotency_key: remote?.idempotency_key, task_id: task, success: true, result: 'too late' }
  const named = { submitter_node_id: 'orch-one', submitter_repository_id: submitter.tasks.repositoryId }
  await client.deliver({
    sender_agent_id: '2',
    receiver_agent_id: '1',
    message_type: 'remote_task_result',
    payload: JSON.stringify({ ...late, ...named }),
    idempotency_key: 'late'
  })
  await eventually(async () => ((await client.inbox({ receiver_agent_id: '1' })).messages.length === 0 ? true : null))
  t.equal(submitter.tasks.task(task)?.status.kind, 'Queued')
  const error = await client
    .renewMessage({ receiver: '2', message: messages[0]?.id as number, node: 'orch-one' })
    .catch(e => e)
  t.match(error, { data: { status: 404 } }, 'the envelope was withdrawn, so that its worker stops')
})

t.test('without a control plane, the task is queued locally, and not relayed a second time', async t => {
  const submitter = await openHost(t, {
    name: 'one',
    url: `http://127.0.0.1:${await freePort()}`,
    orchestrator: DELEGATES
  })
  const task = await submitter.submit()
  const view = await submitter.until(task, 'Queued')
  t.equal(view.placement_reason, 'local_queue_fallback_after_remote_relay_error')
  t.equal(view.remote, undefined)
  t.match(view.placement_detail, /connection refused/)
})

t.test('a relay that the control plane refuses releases the lease', async t => {
  const control = await openControl(t, {
    mesh: { worker_token: 'only-a-worker' },
    settings: { http_max_body_bytes: 2_048 }
  })
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  const task = await submitter.submit({ description: 'long '.repeat(1_000) })
  const view = await submitter.until(task, 'Queued')
  t.match(view.placement_detail, /413/)
  t.ok(await isClean(control))
})

t.test('a host that does not accept the repository says so, and the task runs locally', async t => {
  const control = await openControl(t)
  const fleet = worker()
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  await openHost(t, {
    name: 'two',
    url: control.url,
    orchestrator: WORKS,
    node: { repositories: ['another'] },
    processors: [fleet],
    fleet: true
  })
  const task = await submitter.submit()
  const view = await submitter.until(task, 'Queued')
  t.match(view, {
    placement_reason: 'local_queue_fallback_after_remote_relay_error',
    placement_detail: /did not accept/
  })
  t.equal(fleet.seen.length, 0)
  t.ok(await isClean(control))
})

t.test('results of other machines stay in a shared inbox, and unreadable ones are removed', async t => {
  const control = await openControl(t)
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: DELEGATES })
  await submitter.until(await submitter.submit({ hints: { execution_role: 'verifier' } }), 'Queued')
  const client = clientOf(control.url)
  const send = (key: string, payload: string) =>
    client.deliver({
      sender_agent_id: '2',
      receiver_agent_id: '1',
      message_type: 'remote_task_result',
      payload,
      idempotency_key: key
    })
  const result = { idempotency_key: 'orch-remote-1-1', task_id: 1, success: true }
  const others = { submitter_node_id: 'orch-three', submitter_repository_id: submitter.tasks.repositoryId }
  await send('a', JSON.stringify({ ...result, ...others }))
  await send('b', JSON.stringify(result))
  await send('c', '{"idempotency_key":')
  await send('d', JSON.stringify({ ...result, success: 'yes' }))
  const left = await eventually(async () => {
    const { messages } = await client.inbox({ receiver_agent_id: '1' })
    return messages.length === 2 ? messages : null
  })
  t.same(left.map(({ idempotency_key }) => idempotency_key).sort(), ['a', 'b'])
})

t.test('a relay without a lease completes a task that is still queued here', async t => {
  const control = await openControl(t)
  const fleet = worker()
  const plain = { ...DELEGATES, mesh_remote_lease_gating_enabled: false }
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: plain })
  await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS, processors: [fleet], fleet: true })
  const task = await submitter.submit()
  t.match(submitter.tasks.task(task), { status: { kind: 'Queued' }, placement_reason: 'local_queue_default' })
  t.equal((await submitter.until(task, 'Completed')).remote, undefined)
  t.ok(await isClean(control))
})

t.test('many calls of a node at a time are not reported as a leak of listeners', async t => {
  const control = await openControl(t)
  const plain = { ...DELEGATES, mesh_remote_lease_gating_enabled: false }
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: plain })
  const warnings: string[] = []
  const note = ({ name, message }: Error): void => void warnings.push(`${name}: ${message}`)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  await Promise.all(Array.from({ length: 30 }, () => submitter.submit()))
  await eventually(async () => ((await control.store.count('a2a:')) === 30 ? true : null))
  t.same(warnings, [])
})

t.test('a relayed copy is withdrawn once the task ends here', async t => {
  const control = await openControl(t)
  const plain = { ...DELEGATES, mesh_remote_lease_gating_enabled: false }
  const submitter = await openHost(t, { name: 'one', url: control.url, orchestrator: plain })
  const task = await submitter.submit()
  await eventually(async () => ((await control.store.count('a2a:')) === 1 ? true : null))
  await submitter.tasks.complete(task, { checks_passed: ['peer_review_approved'] })
  const left = await eventually(async () => {
    const { messages } = await clientOf(control.url).inbox({ receiver_agent_id: '2' })
    return messages.some(({ message_type }) => message_type === 'remote_task_cancel') ? messages : null
  })
  t.same(
    left.map(({ message_type }) => message_type),
    ['remote_task_cancel']
  )
})

/** Hosts with the default gates: `one` delegates, and the agents of `two` complete each task with these claims. */
async function withGates(
  t: Test,
  { attestation, gated = true, work }: { attestation: Attestation; gated?: boolean; work?: (root: string) => void }
) {
  const control = await openControl(t)
  let root = ''
  const processor: TaskProcessor = {
    name: 'claims',
    rank: 100,
    takes: () => true,
    run: async () => {
      work?.(root)
      return attestation
    }
  }
  const one = await openHost(t, {
    name: 'one',
    url: control.url,
    orchestrator: { ...DELEGATES, stubcheck_gate: true }
  })
  const two = await openHost(t, {
    name: 'two',
    url: control.url,
    orchestrator: { ...WORKS, stubcheck_gate: gated },
    processors: [processor],
    fleet: true
  })
  root = two.kernel.root
  return { one, two }
}

const SUMMARY = 'The greeting for Ada is written and checked.'
const GREETING = 'export const greeting = "Hello, Ada"\n'
/** A task that writes files needs a review on the machine that does it. */
const WRITTEN: Attestation = {
  completion_summary: SUMMARY,
  checks_passed: ['human_review_approved'],
  artifact_paths: ['greeting.ts']
}
const sentBack = (host: Host) =>
  eventually(() => {
    const found = host.events.find(({ kind }) => kind.type === 'task_requeued')
    return found?.kind.type === 'task_requeued' ? found.kind : null
  })

t.test('with the default gates, the claims of the worker complete a task without files', async t => {
  const { one, two } = await withGates(t, {
    attestation: {
      completion_summary: SUMMARY,
      checks_passed: ['spelling'],
      declared_non_placeholder: true,
      force_risky: true,
      force_risky_reason: 'the worker accepts it'
    }
  })
  const task = await one.submit()
  t.equal((await one.until(task, 'Completed', 'Failed', 'Queued')).status.kind, 'Completed')
  const [done] = two.tasks.tasks()
  t.same(
    done?.attestation,
    { checks_passed: ['spelling'], declared_non_placeholder: true },
    'a worker cannot accept risks for the owner of a task'
  )
  const gate = one.tasks.explain(task)?.gates.find(({ gate }) => gate === 'stubcheck')
  t.equal(gate?.verdict, 'pass')
})

t.test('the files that a worker claims are checked on the machine that owns the task', async t => {
  const { one } = await withGates(t, {
    attestation: WRITTEN,
    work: root => writeFileSync(join(root, 'greeting.ts'), GREETING)
  })
  const files = [{ path: 'greeting.ts', access: 'write' as const }]
  await one.submit({ files })
  t.match(await sentBack(one), { gate: 'stubcheck', reason: /greeting\.ts does not exist/ })
})

t.test('files that both machines have complete a task that writes them', async t => {
  const { one } = await withGates(t, {
    attestation: WRITTEN,
    work: root => writeFileSync(join(root, 'greeting.ts'), GREETING)
  })
  writeFileSync(join(one.kernel.root, 'greeting.ts'), GREETING)
  const task = await one.submit({ files: [{ path: 'greeting.ts', access: 'write' }] })
  t.equal((await one.until(task, 'Completed', 'Failed', 'Queued')).status.kind, 'Completed')
})

t.test('a worker that claims nothing has its result sent back by the default gates', async t => {
  const { one } = await withGates(t, { attestation: { completion_summary: SUMMARY }, gated: false })
  await one.submit()
  t.match(await sentBack(one), { gate: 'stubcheck', reason: /declared_non_placeholder must be true/ })
})
