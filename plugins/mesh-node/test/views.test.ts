import { operationStarting } from '@svc/contracts'
import tools from '@svc/plugin-orchestrator-tools'
import { definePlugin, type Principal, SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { nodeMailbox } from '#root'
import { eventually, type Host, openControl, openHost, TOKEN, WORKS } from './bed.ts'

const QUIET = { ...WORKS, mesh_remote_worker_poll_interval_secs: 0 }
const OWNER: Principal = { id: 'local', role: 'admin', scopes: ['*'] }
const signal = new AbortController().signal
const caller = (principal = OWNER) => ({ principal, requestId: 'r-1', signal })

/** Waits until a host sees a task of another one. */
const seen = (host: Host, task: number) =>
  eventually(async () => {
    const { items } = await host.repository.list({}, signal)
    return items.find(({ id, process }) => id === task && !process.own) ?? null
  })

t.test('open tasks of a host are listed on the others, with the process that holds them', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: QUIET })
  const two = await openHost(t, { name: 'two', url: control.url, orchestrator: QUIET })
  const description = `Describe ${'very '.repeat(100)}long`
  const task = await one.submit({ description, priority: 'Urgent', session_id: 's-1' })
  const view = await seen(two, task)
  t.match(view, {
    status: { kind: 'Queued' },
    priority: 'Urgent',
    session_id: 's-1',
    placement_reason: 'local_queue_default',
    process: { pid: process.pid, seat: null, alive: true, own: false }
  })
  t.equal(view.description.length, 120)
  const { items } = await two.repository.processes(signal)
  t.match(items[1], { open: { Queued: 1, InProgress: 0 }, own: false })
  const own = await one.repository.list({}, signal)
  t.equal(own.items.length, 1, 'the host does not see its own tasks twice')
  const whole = await two.repository.find({ id: task }, signal)
  t.equal(whole?.description, description, 'a task that is named has its whole texts')
  await one.tasks.complete(task, { checks_passed: ['peer_review_approved'] })
  await eventually(async () => ((await two.repository.list({}, signal)).items.length === 0 ? true : null))
})

t.test('verbs on a task of another host are run by its process, with the principal of the caller', async t => {
  const control = await openControl(t)
  const guard = definePlugin({
    name: 'guard',
    activate(ctx) {
      ctx.on(operationStarting, ({ principal, surface, operation }) => {
        if (principal.role === 'reader') throw new SvcError('GRD_NO', `${operation} by ${principal.id} over ${surface}`)
      })
    }
  })
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: QUIET, more: [tools, guard] })
  const two = await openHost(t, { name: 'two', url: control.url, orchestrator: QUIET })
  const first = await one.submit()
  const second = await one.submit()
  const view = await seen(two, second)
  await two.repository.act(view, 'reorder', { priority: 'urgent' }, caller())
  t.equal(one.tasks.task(second)?.priority, 'Urgent')
  await t.rejects(two.repository.act(view, 'reorder', { priority: 7 }, caller()), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(two.repository.act(view, 'cancel', {}, caller({ id: 'eve', role: 'reader', scopes: [] })), {
    code: 'GRD_NO',
    message: 'orchestrator.cancelTask by mesh:eve over seat'
  })
  t.equal(one.tasks.task(second)?.status.kind, 'Queued')
  await two.repository.act(view, 'cancel', {}, caller())
  t.equal(one.tasks.task(second)?.status.kind, 'Cancelled')
  t.equal(one.tasks.task(first)?.status.kind, 'Queued')
})

t.test('a host that has stopped does not answer verbs', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: QUIET, more: [tools] })
  const two = await openHost(t, { name: 'two', url: control.url, orchestrator: QUIET })
  const task = await one.submit()
  const view = await seen(two, task)
  await one.close()
  await t.rejects(two.repository.act(view, 'cancel', {}, caller()), {
    code: 'ORC_ELSEWHERE',
    message: /nothing changed/
  })
})

t.test('a host may refuse verbs, and may publish nothing', async t => {
  const control = await openControl(t)
  const one = await openHost(t, {
    name: 'one',
    url: control.url,
    orchestrator: QUIET,
    node: { accept_verbs: false },
    more: [tools]
  })
  const two = await openHost(t, { name: 'two', url: control.url, orchestrator: QUIET, node: { publish_tasks: false } })
  const task = await one.submit()
  await two.submit()
  const view = await seen(two, task)
  await t.rejects(two.repository.act(view, 'cancel', {}, caller()), { code: 'ORC_ELSEWHERE', message: /accept_verbs/ })
  t.equal(one.tasks.task(task)?.status.kind, 'Queued')
  const { items } = await one.repository.list({}, signal)
  t.equal(items.length, 1)
})

t.test('a host that publishes nothing does not show a task on request, but may still accept verbs', async t => {
  const control = await openControl(t)
  const node = { publish_tasks: false, processor: 'echo' }
  const quiet = await openHost(t, { name: 'quiet', url: control.url, orchestrator: WORKS, node, more: [tools] })
  const task = await quiet.submit()
  const post = async (path: string, body: object): Promise<any> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` }
    const response = await fetch(`${control.url}/v1/mesh${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body)
    })
    return response.json()
  }
  const ask = async (verb: string, sender: string): Promise<any> => {
    const principal = { id: 'eve', role: 'owner', scopes: ['*'] }
    const payload = JSON.stringify({ verb, task_id: task, args: {}, principal, request_id: 'r' })
    const route = { sender_agent_id: sender, receiver_agent_id: nodeMailbox(quiet.node.id) }
    await post('/a2a/deliver', { ...route, message_type: 'task_verb', payload })
    const { messages } = await post('/a2a/inbox', { receiver_agent_id: sender, wait_ms: 20_000 })
    return JSON.parse(messages[0].payload)
  }
  t.same(await ask('look', '81'), { output: null })
  t.equal(quiet.tasks.task(task)?.status.kind, 'Queued')
  t.ok('output' in (await ask('cancel', '82')))
  t.equal(quiet.tasks.task(task)?.status.kind, 'Cancelled')
})
