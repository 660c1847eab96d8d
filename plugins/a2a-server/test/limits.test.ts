import { randomUUID } from 'node:crypto'
import { Message, type Task, TaskState } from '@a2a-js/sdk'
import { UnsupportedOperationError } from '@a2a-js/sdk/errors'
import { type Coordination, coordinationErrors, type NewItem, orchestrator as orchestratorToken } from '@svc/contracts'
import coordination from '@svc/plugin-coordination'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { openWorld } from './open-world.ts'
import { getRequest, listRequest, messageOf, until } from './requests.ts'

const NOW = { configuration: { returnImmediately: true } }

t.test('a caller has a maximum of unfinished tasks, and a repeated message does not count', async t => {
  const world = await openWorld(t, { settings: { max_open_tasks: 2 } })
  world.worker.pause()
  const client = await world.client('JSONRPC')
  const messageId = randomUUID()
  await client.sendMessage(messageOf('wait', { ...NOW, messageId }))
  const second = (await client.sendMessage(messageOf('wait', NOW))) as Task
  await t.rejects(client.sendMessage(messageOf('wait', NOW)), { message: /2 unfinished tasks/ })
  const answer = await world.rest('POST', '/message:send', {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'wait' }] }
  })
  t.equal(answer.status, 429)
  await client.sendMessage(messageOf('wait', { ...NOW, messageId }))
  await client.cancelTask({ tenant: '', id: second.id, metadata: undefined })
  await client.sendMessage(messageOf('wait', NOW))
})

t.test('streams and waiting requests have a maximum', async t => {
  const world = await openWorld(t, { settings: { max_streams: 1 } })
  const client = await world.client('JSONRPC')
  const { id } = (await client.sendMessage(messageOf('wait', NOW))) as Task
  const stream = client.resubscribeTask({ tenant: '', id })
  await stream.next()
  const waiting = stream.next()
  await until(async () => /svc_a2a_streams 1/.test(await (await fetch(`${world.url}/metrics`)).text()))
  t.equal((await world.rpc('SubscribeToTask', { id })).status, 429)
  await t.rejects(client.sendMessage(messageOf('wait')), { message: /streams and waiting requests/ })
  await client.cancelTask({ tenant: '', id, metadata: undefined })
  await waiting
  for await (const _ of stream);
})

t.test('the oldest ended tasks are removed, and their messages do not run again', async t => {
  const world = await openWorld(t, { settings: { keep_tasks: 2 } })
  const client = await world.client('HTTP+JSON')
  const sent: Task[] = []
  for (const word of ['a', 'b', 'c']) sent.push((await client.sendMessage(messageOf(`say ${word}`))) as Task)
  world.worker.pause()
  const open = (await client.sendMessage(messageOf('say d', NOW))) as Task
  // The removal runs when the plugin starts.
  await world.kernel.replace(definePlugin({ ...(await import('#plugin')).default }))
  await until(async () => (await client.listTasks(listRequest({}))).totalSize === 3)
  await t.rejects(client.getTask(getRequest(sent[0]?.id as string)), /no task/)
  t.strictSame(await world.store.look(`a2a-log:${world.scope}:${sent[0]?.id}`, { limit: 1 }), [])
  t.equal((await client.getTask(getRequest(open.id))).status?.state, TaskState.TASK_STATE_SUBMITTED)
  const messageId = sent[0]?.history[0]?.messageId as string
  await t.rejects(client.sendMessage(messageOf('say a', { messageId })), /no longer stored/)
  t.equal(world.orchestrator.tasks().filter(({ description }) => description === 'say a').length, 1)
})

t.test('a list of large tasks is cut into smaller pages', async t => {
  const world = await openWorld(t)
  const client = await world.client('JSONRPC')
  const metadata = { note: 'x'.repeat(900_000) }
  const ids = new Set<string>()
  for (let at = 0; at < 6; at += 1) ids.add(((await client.sendMessage(messageOf('say big', { metadata }))) as Task).id)
  let pageToken = ''
  let pages = 0
  do {
    const page = await client.listTasks(listRequest({ pageToken }))
    pages += 1
    for (const { id } of page.tasks) ids.delete(id)
    pageToken = page.nextPageToken
  } while (pageToken !== '')
  t.equal(ids.size, 0)
  t.ok(pages > 1)
})

t.test('the history of a task has a maximum size', async t => {
  const world = await openWorld(t, { more: [everDoubting()] })
  const client = await world.client('JSONRPC')
  const metadata = { note: 'x'.repeat(900_000) }
  const { id: taskId } = (await client.sendMessage(messageOf('doubt a', { metadata }))) as Task
  let replies = 0
  const refused = await until(async () => {
    try {
      await client.sendMessage(messageOf('more', { taskId, metadata }))
      replies += 1
      return null
    } catch (error) {
      return error
    }
  })
  t.ok(refused instanceof UnsupportedOperationError)
  t.match(refused, { message: /history/ })
  t.ok(replies >= 3)
  const { history } = await client.getTask(getRequest(taskId))
  t.ok(Buffer.byteLength(JSON.stringify(history.map(each => Message.toJSON(each)))) <= 4 * 1024 * 1024)
})

/** Doubts each task again as soon as its doubt is resolved. */
function everDoubting(): Plugin {
  return definePlugin({
    name: 'ever-doubting',
    requires: { tasks: orchestratorToken },
    activate(ctx, { tasks }) {
      ctx.effect(
        'doubts',
        tasks.subscribe(({ kind }) => {
          if (kind.type === 'task_resolved') void tasks.doubt(kind.task_id, 'again?').catch(() => undefined)
        })
      )
    }
  }) as Plugin
}

t.test('while the store does not respond, calls fail with 503, and a repeated message runs once', async t => {
  let fault: ((items: readonly NewItem[]) => 'before' | 'after' | null) | null = null
  const faulty = definePlugin({
    ...coordination,
    activate(ctx, deps) {
      const provide: typeof ctx.provide = (token, value) =>
        ctx.provide(token, withFaults(value as Coordination) as never)
      return coordination.activate(
        new Proxy(ctx, { get: (on, key) => (key === 'provide' ? provide : Reflect.get(on, key)) }),
        deps
      )
    }
  })
  const unavailable = () => coordinationErrors.create('CRD_UNAVAILABLE', 'the database does not respond')
  function withFaults(store: Coordination): Coordination {
    return new Proxy(store, {
      get(on, key) {
        const value = Reflect.get(on, key)
        if (key !== 'put') return typeof value === 'function' ? value.bind(on) : value
        return async (items: readonly NewItem[]) => {
          const when = fault?.(items) ?? null
          if (when === 'before') throw unavailable()
          const results = await on.put(items)
          if (when === 'after') throw unavailable()
          return results
        }
      }
    })
  }
  const world = await openWorld(t, { replaced: { coordination: faulty as Plugin } })
  const params = { message: { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'say once' }] } }
  for (const when of ['before', 'after'] as const) {
    fault = () => when
    const failed = await world.rpc('SendMessage', params)
    t.match(failed, { status: 503, body: { error: { code: -32603, message: /same messageId/ } } }, when)
  }
  fault = null
  const answer = await world.rpc('SendMessage', params)
  t.match(answer.body, { result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } })
  t.equal(world.orchestrator.tasks().length, 1)
})

t.test('an orchestrator that is stopped receives the task once it is started again', async t => {
  const world = await openWorld(t)
  await world.orchestrator.emergencyStop('a test')
  const client = await world.client('JSONRPC')
  const { id } = (await client.sendMessage(messageOf('say hello', NOW))) as Task
  await until(async () => (await world.store.look(`a2a-work:${world.scope}`, { limit: 1 }))[0]?.state === 'delayed')
  t.equal((await client.getTask(getRequest(id))).status?.state, TaskState.TASK_STATE_SUBMITTED)
  await world.orchestrator.start()
  t.ok(await until(async () => (await client.getTask(getRequest(id))).status?.state === TaskState.TASK_STATE_COMPLETED))
})

t.test('a reload of the server or the orchestrator loses no task, and ends open streams', async t => {
  const world = await openWorld(t)
  const client = await world.client('JSONRPC')
  const { id } = (await client.sendMessage(messageOf('doubt me', NOW))) as Task
  await until(async () => (await client.getTask(getRequest(id))).status?.state === TaskState.TASK_STATE_INPUT_REQUIRED)
  const stream = client.resubscribeTask({ tenant: '', id })
  await stream.next()
  const ended = stream.next()
  await world.kernel.replace(definePlugin({ ...(await import('#plugin')).default }))
  t.equal((await ended).done, true)
  await world.kernel.replace(definePlugin({ ...orchestratorPlugin }))
  const done = (await client.sendMessage(messageOf('go on', { taskId: id, ...NOW }))) as Task
  t.equal(done.status?.state, TaskState.TASK_STATE_WORKING)
  t.ok(
    await until(async () => {
      const { status } = await client.getTask(getRequest(id))
      // The worker may have ended the task meanwhile.
      if (status?.state === TaskState.TASK_STATE_COMPLETED) return true
      return (
        status?.state === TaskState.TASK_STATE_WORKING &&
        (await world.store.look(`a2a-work:${world.scope}`, { limit: 1 }))[0]?.state === 'leased'
      )
    })
  )
})
