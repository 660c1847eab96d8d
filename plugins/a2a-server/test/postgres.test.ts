import { type Task, TaskState } from '@a2a-js/sdk'
import { TaskNotCancelableError } from '@a2a-js/sdk/errors'
import { noPostgres, PostgresServer } from '@svc/plugin-coordination-postgres/testing'
import t from 'tap'
import { openWorld, type World } from './open-world.ts'
import { getRequest, listRequest, messageOf, until } from './requests.ts'

// The servers of a test are one project.
process.env.SVC_REPOSITORY_ID = 'a2a-postgres'

t.test('two hosts with their own databases serve the same tasks from PostgreSQL', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const hosts = [await openWorld(t, { postgres: server.url() }), await openWorld(t, { postgres: server.url() })]
  const [one, other] = hosts as [World, World]
  const clients = [await one.client('JSONRPC'), await other.client('HTTP+JSON')] as const
  const [here, there] = clients

  const sent = await Promise.all(
    Array.from({ length: 20 }, (_, at) => clients[at % 2]?.sendMessage(messageOf(`say ${at}`)) as Promise<Task>)
  )
  for (const [at, task] of sent.entries()) {
    t.equal(task.status?.state, TaskState.TASK_STATE_COMPLETED)
    const seen = await clients[(at + 1) % 2]?.getTask(getRequest(task.id))
    t.equal(seen?.artifacts[0]?.parts[0]?.content?.value, String(at))
  }
  const runs = hosts.flatMap(({ orchestrator }) => orchestrator.tasks())
  t.equal(runs.length, 20, 'each task ran once, on one of the hosts')
  t.equal((await there.listTasks(listRequest({}))).totalSize, 20)

  t.comment('a task is followed, continued and cancelled from the other host')
  const asked = (await here.sendMessage(messageOf('doubt which?'))) as Task
  const states: unknown[] = []
  const following = (async () => {
    for await (const { payload } of there.resubscribeTask({ tenant: '', id: asked.id }))
      if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
  })()
  const done = (await there.sendMessage(messageOf('this', { taskId: asked.id }))) as Task
  t.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED)
  await following
  t.equal(states.at(-1), TaskState.TASK_STATE_COMPLETED)

  const messageId = 'the-same-message'
  const same = await Promise.all(clients.map(client => client.sendMessage(messageOf('say once', { messageId }))))
  t.equal((same[0] as Task).id, (same[1] as Task).id)
  const waiting = (await here.sendMessage(messageOf('wait', { configuration: { returnImmediately: true } }))) as Task
  await until(async () => (await there.getTask(getRequest(waiting.id))).status?.state === TaskState.TASK_STATE_WORKING)
  const cancel = (client: typeof here) => client.cancelTask({ tenant: '', id: waiting.id, metadata: undefined })
  const outcomes = await Promise.allSettled([cancel(here), cancel(there)])
  t.strictSame(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.ok(outcomes.some(each => each.status === 'rejected' && each.reason instanceof TaskNotCancelableError))
  t.ok(
    await until(() =>
      hosts.some(({ orchestrator }) => orchestrator.tasks().some(({ status }) => status.kind === 'Cancelled'))
    )
  )
})

t.test('tasks go on after a restart of the PostgreSQL server', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start()
  t.teardown(() => server.remove())
  const world = await openWorld(t, { postgres: server.url() })
  world.worker.pause()
  const client = await world.client('JSONRPC')
  const send = (messageId: string) =>
    client.sendMessage(messageOf(`say ${messageId}`, { messageId, configuration: { returnImmediately: true } }))
  /** Sends a message until it is stored. */
  const sent = (messageId: string) => until(() => send(messageId).catch(() => null)) as Promise<Task>
  const first = await sent('before')
  await server.crash()
  await t.rejects(send('during'))
  await server.up()
  const repeated = await sent('during')
  world.worker.resume()
  for (const { id } of [first, repeated])
    t.ok(
      await until(async () => {
        const task = await client.getTask(getRequest(id)).catch(() => null)
        return task?.status?.state === TaskState.TASK_STATE_COMPLETED
      })
    )
  const descriptions = world.orchestrator.tasks().map(({ description }) => description)
  t.strictSame(descriptions.sort(), ['say before', 'say during'])
})
