import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { callDaemon, type InboxItem } from '@svc/contracts'
import coordination from '@svc/plugin-coordination'
import daemon from '@svc/plugin-daemon'
import orchestratorPlugin from '@svc/plugin-orchestrator'
import type { Delta, Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { type TaskRow, tasksFeed } from '#feeds'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { daemonStateOf } from '../../../test/daemon-state.ts'
import { type Envelope, openWorld, until, type World } from './open-world.ts'

interface Other {
  readonly child: ChildProcess
  readonly pid: number
  tool(name: string, args?: object): Promise<Envelope>
  submit(count: number): Promise<void>
  kill(): Promise<void>
}

function freshFile(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'processes-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'store.db')
}

/** Starts another process of the repository on the same database. */
async function otherProcess(t: Test, file: string, mode = ''): Promise<Other> {
  const child = spawn(
    process.execPath,
    [...CHILD_ARGUMENTS, join(import.meta.dirname, 'process-child.ts'), file, mode],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, NODE_OPTIONS: '' } }
  )
  const ended = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async (): Promise<unknown> => {
    const { value, done } = await lines.next()
    if (done === true) throw new Error('the other process has ended')
    return JSON.parse(value as string)
  }
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(kill)
  const { pid } = (await next()) as { readonly pid: number }
  const ask = (request: object): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    return next()
  }
  return {
    child,
    pid,
    kill,
    tool: async (tool, args = {}) => (await ask({ tool, args })) as Envelope,
    submit: async count => {
      t.same(await ask({ submit: count }), { submitted: count })
    }
  }
}

const here = (t: Test, file: string, more: readonly unknown[] = [coordination]): Promise<World> =>
  openWorld(t, {
    database: true,
    without: ['a2a'],
    more: more as Plugin[],
    databaseFile: file,
    settings: { tier_enforcement: false }
  })

interface Row {
  readonly task_id: number
  readonly status: string
  readonly holder: string
  readonly process: { readonly own: boolean; readonly alive: boolean; readonly pid: number }
}

const rowsOf = ({ data }: Envelope): readonly Row[] => (data as { readonly tasks: readonly Row[] }).tasks

t.test('lists, shows and explains the tasks of both processes, with the holder of each', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file)
  await other.submit(2)
  const { tool } = await here(t, file)
  await tool('submit_task', { description: 'Mine', agent_name: 'near' })
  const listed = await tool('queue_status')
  const rows = rowsOf(listed)
  t.match(listed.data, { total_queued: 3, total_in_progress: 0 })
  t.same(
    rows.map(({ process }) => [process.pid, process.own, process.alive]),
    [
      [other.pid, false, true],
      [other.pid, false, true],
      [process.pid, true, true]
    ]
  )
  t.equal(rows[0]?.holder, `${other.pid} on ${hostname()}`)
  t.equal(rowsOf(await tool('queue_status', { own: true })).length, 1)
  t.match(await tool('queue_status', { own: true }), { data: { total_queued: 1 } })
  t.equal(rowsOf(await tool('queue_status', { status: 'InProgress' })).length, 0)
  t.equal(rowsOf(await tool('queue_status', { limit: 2 })).length, 2)
  const id = rows[0]?.task_id as number
  t.match(await tool('task_details', { task_id: id }), {
    data: { id, description: 'Task 0', status: 'Queued', holder: rows[0]?.holder }
  })
  t.match(await tool('task_status', { task_id: id }), { data: 'Queued' })
  t.match(await tool('explain_task', { task_id: id }), {
    data: { task_id: id, holder: rows[0]?.holder, text: new RegExp(`Process ${other.pid} on .* holds the task`) }
  })
  t.match(await tool('agent_status'), {
    data: {
      agents: [
        { name: 'far', queued: 2, holder: rows[0]?.holder, trust: 0.5 },
        { name: 'near', queued: 1, process: { own: true } }
      ]
    }
  })
  const status = await tool('orchestrator_status')
  t.match(status, {
    data: {
      processes: [
        { pid: process.pid, own: true, queued: 1, agents: 1 },
        { pid: other.pid, own: false, queued: 2, agents: 1 }
      ],
      text: new RegExp(`Process ${other.pid} on .*: 1 agents, 2 queued`)
    }
  })
  t.match(await tool('orchestrator_status', { own: true }), { data: { processes: { length: 1 } } })
  const seen = rowsOf(await other.tool('queue_status'))
  t.same(
    seen.map(({ process }) => process.own),
    [true, true, false],
    'the other process sees the same tasks'
  )
  const missing = Math.max(...rows.map(({ task_id }) => task_id)) + 100
  t.match(await tool('task_details', { task_id: missing }), { success: false, error: `task ${missing} not found` })
  t.match(await tool('task_details', { task_id: `T-${id}@elsewhere` }), {
    success: false,
    error: /not found on elsewhere/
  })
})

t.test('the process that holds a task runs the verbs of others, and refuses them as its own', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file)
  await other.submit(5)
  const { tool, orchestrator } = await here(t, file)
  const ids = rowsOf(await tool('queue_status')).map(({ task_id }) => task_id)
  const [cancelled, failed, doubted, moved, completed] = ids as [number, number, number, number, number]
  t.same(await tool('cancel_task', { task_id: cancelled }), { success: true, data: 'task cancelled' })
  t.match(await tool('doubt_task', { task_id: doubted, reason: 'looks wrong' }), { success: true })
  t.same(await tool('reorder_task', { task_id: moved, priority: 'urgent' }), { success: true, data: 'task reordered' })
  t.same(await tool('complete_task', { task_id: completed, checks_passed: ['tests'] }), {
    success: true,
    data: 'task completed'
  })
  t.same(await tool('fail_task', { task_id: failed, reason: 'no luck' }), { success: true, data: 'task failed' })
  t.match(await tool('fail_task', { task_id: failed, reason: 'again' }), {
    success: false,
    error: /^Task T-0*2 is Failed: it cannot be failed/
  })
  t.match(await tool('cancel_task', { task_id: cancelled }), {
    success: false,
    error: /^Task T-0*1 is Cancelled: it cannot be cancelled/,
    remediation: 'submit a new task'
  })
  t.match(await tool('resolve_doubt', { task_id: doubted, outcome: 'overruled', report: 'it is right' }), {
    success: true
  })
  const seen = new Map(rowsOf(await other.tool('queue_status')).map(({ task_id, status }) => [task_id, status]))
  t.same(
    ids.map(id => seen.get(id)),
    ['Cancelled', 'Failed', 'Completed', 'Queued', 'Completed']
  )
  t.match(await other.tool('task_details', { task_id: moved }), { data: { priority: 'Urgent' } })
  t.same(orchestrator.tasks(), [], 'nothing happened to the tasks of this process')
})

t.test('without a coordination store, a verb on the task of another process is refused at once', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file, 'alone')
  await other.submit(1)
  const { tool } = await here(t, file, [])
  const [row] = rowsOf(await tool('queue_status'))
  t.match(await tool('cancel_task', { task_id: row?.task_id }), {
    success: false,
    error: new RegExp(`^Task T-0001 is held by process ${other.pid} on .*no plugin provides a coordination store`)
  })
  t.match(await other.tool('task_status', { task_id: row?.task_id }), { data: 'Queued' })
})

t.test('a holder that does not respond changes nothing, also when it continues', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file)
  await other.submit(1)
  const { tool } = await here(t, file)
  const [row] = rowsOf(await tool('queue_status'))
  other.child.kill('SIGSTOP')
  const refused = await tool('cancel_task', { task_id: row?.task_id })
  t.match(refused, {
    success: false,
    error: new RegExp(`^Task T-0001 is held by process ${other.pid} on .*did not respond within 5 s; nothing changed`)
  })
  other.child.kill('SIGCONT')
  t.match(await other.tool('task_status', { task_id: row?.task_id }), { data: 'Queued' })
  t.same(await tool('cancel_task', { task_id: row?.task_id }), { success: true, data: 'task cancelled' })
})

t.test('the tasks of a killed process are taken over, and a verb waits for that', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file)
  await other.submit(3)
  const { tool, orchestrator } = await here(t, file)
  const [first] = rowsOf(await tool('queue_status'))
  await other.kill()
  t.same(await tool('cancel_task', { task_id: first?.task_id }), { success: true, data: 'task cancelled' })
  const rows = rowsOf(await tool('queue_status'))
  t.equal(rows.length, 3, 'each task is listed once')
  t.ok(rows.every(({ process }) => process.own))
  t.equal(orchestrator.tasks().length, 3)
  await until(async () => ((await tool('orchestrator_status')).data as { processes: object[] }).processes.length === 1)
})

t.test('clients of the daemon see and change the tasks of an editor’s process', async t => {
  const file = freshFile(t)
  const editor = await otherProcess(t, file)
  await editor.submit(2)
  const { kernel } = await openWorld(t, {
    database: true,
    without: ['a2a'],
    more: [coordination, daemon] as Plugin[],
    databaseFile: file,
    daemon: '127.0.0.1:0',
    settings: { tier_enforcement: false }
  })
  const state = await daemonStateOf(kernel.root)
  const call = (method: string, params: object = {}) => callDaemon(state, method, params)
  const { tasks } = (await call('orchestrator.listTasks')) as { readonly tasks: readonly Row[] }
  t.same(
    tasks.map(({ process }) => process.pid),
    [editor.pid, editor.pid]
  )
  const [first, second] = tasks.map(({ task_id }) => task_id)
  t.match(await call('orch.task_status', { task_id: first }), { status: 'Queued' })
  t.match(await call('orch.cancel_task', { task_id: first }), { ok: true, message: 'task cancelled' })
  t.match(await call('orch.reorder_task', { task_id: `T-${second}`, priority: 'background' }), { ok: true })
  await t.rejects(call('orch.fail_task', { task_id: first, reason: 'no luck' }), { code: 'ORC_TRANSITION' })
  t.match(await editor.tool('task_details', { task_id: first }), { data: { status: 'Cancelled' } })
  t.match(await call('orch.status'), { processes: [{ own: true }, { pid: editor.pid, queued: 1, cancelled: 1 }] })
})

t.test(
  'the feeds of the console have the rows of other processes, follow them, and drop those that are gone',
  async t => {
    const file = freshFile(t)
    const other = await otherProcess(t, file)
    await other.submit(3_000)
    const world = await here(t, file)
    await world.orchestrator.submit({ description: 'Mine', files: [], agent_name: 'near' })
    const rows = new Map<string, TaskRow>()
    let since: string | undefined
    const read = async (): Promise<void> => {
      for (let more = true; more; ) {
        const delta = (await world.kernel.call(tasksFeed, { since, limit: 1_000 })) as Delta<TaskRow>
        if (delta.reset) rows.clear()
        for (const row of delta.upsert) rows.set(row.key, row)
        for (const key of delta.remove) rows.delete(key)
        since = delta.cursor
        more = delta.more
      }
    }
    await read()
    t.equal(rows.size, 3_001)
    const holder = `${other.pid} on ${hostname()}`
    t.equal([...rows.values()].filter(({ process, own }) => process === holder && !own).length, 3_000)
    t.match([...rows.values()].find(({ own }) => own)?.position, 1, 'positions are those of own queues')
    t.match(await world.kernel.callById('orchestrator.summary', {}), { tasks: 3_001, agents: 2 })
    const [first] = [...rows.values()].filter(({ own }) => !own)
    t.match(await world.kernel.callById('orchestrator.tasks.record', { task_id: first?.key }), {
      process: holder,
      agent: 'far',
      state: 'Queued'
    })
    await other.tool('doubt_task', { task_id: first?.id, reason: 'looks wrong' })
    await until(async () => {
      await read()
      return rows.get(first?.key as string)?.state === 'Doubted'
    })
    const inbox = (await world.kernel.callById('orchestrator.inbox', {})) as { readonly items: readonly InboxItem[] }
    t.match(inbox.items, [{ id: `doubt-${first?.key}`, kind: 'doubt' }])
    const [answer] = inbox.items[0]?.answers ?? []
    await world.kernel.callById(answer?.operation as string, answer?.input)
    t.match(await other.tool('task_status', { task_id: first?.id }), { data: 'Queued' })
    const found = await world.kernel.callById('orchestrator.search', { text: 'far' })
    t.match(found, { results: [{ kind: 'agent', title: /far/ }] })
    await other.kill()
    await until(async () => {
      await read()
      return [...rows.values()].every(({ own }) => own)
    })
    t.equal(rows.size, 3_001, 'the tasks are now those of this process')
  }
)

t.test('every answer about a change is true, also if the holder is killed meanwhile', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file)
  await other.submit(24)
  const { tool } = await here(t, file)
  const ids = rowsOf(await tool('queue_status')).map(({ task_id }) => task_id)
  const changes = ids.map(task_id => tool('cancel_task', { task_id }))
  await Promise.any(changes)
  await other.kill()
  const answers = await Promise.all(changes)
  const states = new Map(rowsOf(await tool('queue_status')).map(({ task_id, status }) => [task_id, status]))
  t.equal(states.size, 24, 'no task is lost')
  for (const [at, id] of ids.entries()) {
    const { success, error = '' } = answers[at] as Envelope
    const status = states.get(id)
    if (success) t.equal(status, 'Cancelled', `task ${id} was cancelled`)
    else if (/nothing changed/.test(error)) t.equal(status, 'Queued', `task ${id}: ${error}`)
    else t.match(error, /may have been carried out|is Cancelled/, `task ${id} is ${status}`)
  }
})

t.test('a reload of the holder loses no request, and runs none twice', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file)
  const { kernel, orchestrator } = await here(t, file)
  const ended: number[] = []
  orchestrator.subscribe(({ kind }) => {
    if (kind.type === 'task_cancelled') ended.push(kind.task_id)
  })
  const made = await Promise.all(
    Array.from({ length: 12 }, () => orchestrator.submit({ description: 'Mine', files: [], agent_name: 'near' }))
  )
  const answers = made.map(({ task_id }) => other.tool('cancel_task', { task_id }))
  for (let reload = 0; reload < 3; reload += 1) {
    await kernel.replace({ ...orchestratorPlugin } as Plugin)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  t.same(
    (await Promise.all(answers)).map(({ success, error }) => [success, error]),
    made.map(() => [true, undefined])
  )
  const ids = made.map(({ task_id }) => task_id)
  await until(() => ended.length >= ids.length)
  t.same(
    ended.toSorted((a, b) => a - b),
    ids
  )
})

t.test('two processes change the tasks of each other at the same time', async t => {
  const file = freshFile(t)
  const other = await otherProcess(t, file)
  await other.submit(4)
  const { tool, orchestrator } = await here(t, file)
  const made = await Promise.all(
    Array.from({ length: 4 }, () => orchestrator.submit({ description: 'Mine', files: [], agent_name: 'near' }))
  )
  const theirs = rowsOf(await tool('queue_status')).filter(({ process }) => !process.own)
  const results = await Promise.all([
    ...theirs.map(({ task_id }) => tool('cancel_task', { task_id })),
    ...made.map(({ task_id }) => other.tool('cancel_task', { task_id }))
  ])
  t.same(
    results.map(({ success }) => success),
    Array.from({ length: 8 }, () => true)
  )
  t.equal(rowsOf(await tool('queue_status', { status: 'Cancelled' })).length, 8)
})
