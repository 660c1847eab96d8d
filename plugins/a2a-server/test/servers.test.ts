import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Task, TaskState } from '@a2a-js/sdk'
import t, { type Test } from 'tap'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { freshFile, openWorld, VERSION } from './open-world.ts'
import { getRequest, listRequest, messageOf, until } from './requests.ts'

// The servers of a test are one project.
process.env.SVC_REPOSITORY_ID = 'a2a-servers'

const NOW = { configuration: { returnImmediately: true } }

t.test('every server on a store answers for every task', async t => {
  const file = freshFile(t)
  const runner = await openWorld(t, { file })
  const front = await openWorld(t, { file, orchestrator: false })
  runner.worker.pause()
  const [there, here] = [await front.client('JSONRPC'), await runner.client('HTTP+JSON')]

  const sent = (await there.sendMessage(messageOf('say hello', NOW))) as Task
  t.equal((await here.getTask(getRequest(sent.id))).status?.state, TaskState.TASK_STATE_SUBMITTED)
  t.strictSame(
    (await here.listTasks(listRequest({}))).tasks.map(({ id }) => id),
    [sent.id]
  )
  const streams = [there, here].map(async client => {
    const states = []
    for await (const { payload } of client.resubscribeTask({ tenant: '', id: sent.id }))
      if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
    return states
  })
  await until(async () => /svc_a2a_streams 1/.test(await (await fetch(`${front.url}/metrics`)).text()))
  await until(async () => /svc_a2a_streams 1/.test(await (await fetch(`${runner.url}/metrics`)).text()))
  runner.worker.resume()
  const [one, other] = await Promise.all(streams)
  t.equal(one?.at(-1), TaskState.TASK_STATE_COMPLETED)
  t.strictSame(one, other)

  t.comment('a repeated message, a reply and a cancellation reach the task through any server')
  const messageId = sent.history[0]?.messageId as string
  t.equal(((await here.sendMessage(messageOf('say again', { messageId }))) as Task).id, sent.id)
  const asked = (await there.sendMessage(messageOf('doubt why?'))) as Task
  t.equal(asked.status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
  const done = (await there.sendMessage(messageOf('because', { taskId: asked.id }))) as Task
  t.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED)
  const long = (await here.sendMessage(messageOf('wait', NOW))) as Task
  await until(async () => (await there.getTask(getRequest(long.id))).status?.state === TaskState.TASK_STATE_WORKING)
  await there.cancelTask({ tenant: '', id: long.id, metadata: undefined })
  t.ok(await until(() => runner.orchestrator.tasks().some(({ status }) => status.kind === 'Cancelled')))
  t.strictSame(runner.worker.errors, [])
})

t.test('a task goes on after a restart of its server', async t => {
  const file = freshFile(t)
  const first = await openWorld(t, { file })
  const client = await first.client('JSONRPC')
  const asked = (await client.sendMessage(messageOf('doubt again?'))) as Task
  first.worker.pause()
  const queued = (await client.sendMessage(messageOf('say later', NOW))) as Task
  await first.close()

  const second = await openWorld(t, { file })
  const again = await second.client('JSONRPC')
  t.equal((await again.getTask(getRequest(asked.id))).status?.state, TaskState.TASK_STATE_INPUT_REQUIRED)
  const done = (await again.sendMessage(messageOf('yes', { taskId: asked.id }))) as Task
  t.equal(done.status?.state, TaskState.TASK_STATE_COMPLETED)
  t.ok(
    await until(
      async () => (await again.getTask(getRequest(queued.id))).status?.state === TaskState.TASK_STATE_COMPLETED
    )
  )
  t.equal(second.orchestrator.tasks().filter(({ description }) => description === 'say later').length, 1)
})

t.test('no acknowledged message is lost, and none runs twice, when its server is killed', async t => {
  const file = freshFile(t)
  const sent = new Map<string, string>()
  const KILLS = 3
  for (let round = 0; round <= KILLS; round += 1) {
    const child = await startChild(t, file)
    // Sends until the child is killed, or its share is sent.
    let running = true
    const senders = Array.from({ length: 4 }, async (_, sender) => {
      for (let at = 0; running && at < 40; at += 1) {
        const messageId = `m-${round}-${sender}-${at}`
        const id = await send(child.url, messageId).catch(() => null)
        if (id !== null) sent.set(messageId, id)
        if (id !== null && round < KILLS && sent.size >= (round + 1) * 30) {
          running = false
          child.process.kill('SIGKILL')
        }
      }
    })
    await Promise.all(senders)
    if (round < KILLS) continue
    t.ok(sent.size > KILLS * 30)
    for (const [messageId, id] of sent) {
      const task = await until(async () => {
        const found = await get(child.url, id)
        return found.status.state === 'TASK_STATE_COMPLETED' ? found : null
      })
      t.equal(task.history[0].messageId, messageId)
      t.equal(task.artifacts[0].parts[0].text, messageId)
    }
    child.process.kill('SIGKILL')
    await once(child.process, 'exit')
  }
  const { orchestrator } = await openWorld(t, { file })
  const descriptions = await until(() => {
    const found = orchestrator.tasks().map(({ description }) => description)
    return found.length >= sent.size && found
  })
  t.equal(new Set(descriptions).size, descriptions.length, 'no message became two tasks')
})

interface Child {
  readonly process: ChildProcess
  readonly url: string
}

async function startChild(t: Test, file: string): Promise<Child> {
  const script = join(import.meta.dirname, 'server-child.ts')
  const child = spawn(process.execPath, [...CHILD_ARGUMENTS, script, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  })
  const [url] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
  return { process: child, url }
}

/** Sends a message, and returns the id of its task. */
async function send(url: string, messageId: string): Promise<string> {
  const message = { messageId, role: 'ROLE_USER', parts: [{ text: `say ${messageId}` }] }
  const response = await fetch(`${url}/a2a/v1/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/a2a+json', ...VERSION },
    body: JSON.stringify({ message, configuration: { returnImmediately: true } })
  })
  const { task } = (await response.json()) as { task: { id: string } }
  return task.id
}

async function get(url: string, id: string): Promise<any> {
  return (await fetch(`${url}/a2a/v1/tasks/${id}`, { headers: VERSION })).json()
}
