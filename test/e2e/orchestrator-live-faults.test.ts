import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { AgentEvent } from '@svc/contracts'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../child-arguments.ts'
import { DONE } from './orchestrator-faults/story.ts'
import { openDatabase, openWhole } from './orchestrator-faults/whole.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-live-faults-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const write = (path: string) => [{ path, access: 'write' as const }]

async function until<A>(what: () => A | null | undefined | false): Promise<A> {
  const limit = Date.now() + 120_000
  for (;;) {
    const found = what()
    if (found) return found
    if (Date.now() > limit) throw new Error('the condition did not become true within two minutes')
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}

/** Starts a process on the same database that runs the story, and then idles with a task in progress. */
async function neighbour(file: string): Promise<{ child: ChildProcess; tasks: ReadonlyMap<number, string> }> {
  const script = join(import.meta.dirname, 'orchestrator-faults', 'child.ts')
  const args = [...CHILD_ARGUMENTS, script, file, 'never']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const tasks = new Map<number, string>()
  for await (const line of createInterface(child.stdout)) {
    if (line === 'done') break
    if (!line.startsWith('! ') && !line.startsWith('? ')) continue
    const { task, status } = JSON.parse(line.slice(2)) as { task?: number; status?: string }
    if (task !== undefined && status !== undefined) tasks.set(task, status)
  }
  return { child, tasks }
}

t.test('the surviving process of a repository takes over the state of the other one, once', async t => {
  const file = join(folder, 'two.db')
  const { kernel, service: tasks } = await openWhole(file)
  const service = tasks()
  const { task_id: own } = await service.submit({ description: 'Mine', files: write('src/mine.ts'), agent_name: 'me' })
  const { child, tasks: theirs } = await neighbour(file)
  t.equal(service.task(own)?.status.kind, 'Queued')
  t.notOk(theirs.has(own), 'no id is assigned twice')
  child.kill('SIGKILL')
  await once(child, 'exit')
  await until(() => [...theirs.keys()].every(id => service.task(id) !== null))
  for (const [id, status] of theirs) {
    const found = service.task(id)
    t.equal(found?.status.kind, status === 'InProgress' ? 'Queued' : status, `T-${id}`)
    t.equal(found?.recoveries, status === 'InProgress' ? 1 : 0, `recoveries of T-${id}, ${status}`)
  }
  for (const [id, status] of theirs) {
    if (status !== 'InProgress') continue
    const { agent_id } = service.task(id)!
    const taken: number[] = []
    for (let next = await service.next(agent_id); next !== null; next = await service.next(agent_id)) {
      taken.push(next.id)
      await service.complete(next.id, DONE)
    }
    t.ok(taken.includes(id), `T-${id} can be claimed here`)
  }
  t.equal((await service.complete(own, DONE)).completed, true)
  await kernel.close()
})

t.test(
  'if the database is unavailable, callers wait and then get an error; later all changes are stored in order',
  async t => {
    const file = join(folder, 'away.db')
    const settings = { commit_timeout_ms: 1_000 }
    const { kernel, service: tasks, store } = await openWhole(file, { settings, database: { busy_timeout_ms: 200 } })
    const service = tasks()
    const events: AgentEvent[] = []
    service.subscribe(event => void events.push(event))
    await service.submit({ description: 'Before', files: [], agent_name: 'one' })

    const other = await openDatabase(file, { busy_timeout_ms: 10_000 })
    let release = (): void => {}
    const locked = new Promise<void>(resolve => {
      release = resolve
    })
    let holds = (): void => {}
    const holding = new Promise<void>(resolve => {
      holds = resolve
    })
    const lock = other.store.transaction(async tx => {
      await tx.execute('CREATE TABLE IF NOT EXISTS held (x)')
      holds()
      await locked
    })
    await holding
    const submit = (each: number) => service.submit({ description: `Part ${each}`, files: [], agent_name: 'one' })
    const late = await Promise.allSettled([1, 2, 3].map(submit))
    t.same(
      late.map(each => each.status === 'rejected' && each.reason.code),
      ['ORC_NOT_DURABLE', 'ORC_NOT_DURABLE', 'ORC_NOT_DURABLE']
    )
    t.match(service.status().outbox, { pending: 3 })
    t.type(service.status().outbox.failing, 'string')
    t.equal(
      events.filter(({ kind }) => kind.type === 'task_submitted').length,
      1,
      'no listener is notified before the change is durable'
    )
    const waits = submit(4)
    release()
    await lock
    await other.kernel.close()
    await waits
    await until(() => service.status().outbox.pending === 0)
    t.equal(service.status().outbox.failing, null)
    const { rows } = await store.query(
      "SELECT task_id FROM orchestration_lineage_events WHERE kind = 'task_submitted' ORDER BY id"
    )
    t.same(
      rows.map(([id]) => Number(id)),
      service.tasks().map(({ id }) => id)
    )
    t.equal(rows.length, 5, 'each change is stored once')
    const told = events.flatMap(({ kind }) => (kind.type === 'task_submitted' ? [kind.description] : []))
    t.same(told, ['Before', 'Part 1', 'Part 2', 'Part 3', 'Part 4'])
    await kernel.close()

    const again = await openWhole(file)
    t.same(
      again
        .service()
        .tasks()
        .map(({ description }) => description),
      ['Before', 'Part 1', 'Part 2', 'Part 3', 'Part 4']
    )
    await again.kernel.close()
  }
)

t.test('if two callers complete one task, one succeeds', async t => {
  const { kernel, service: tasks } = await openWhole(join(folder, 'twice.db'))
  const service = tasks()
  for (let round = 0; round < 20; round += 1) {
    const { task_id } = await service.submit({ description: 'Do it once', files: write(`src/${round}.ts`) })
    const ends = await Promise.allSettled([
      service.complete(task_id, DONE),
      service.complete(task_id, DONE),
      service.fail(task_id, 'no'),
      service.cancel(task_id)
    ])
    t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1)
    for (const end of ends) if (end.status === 'rejected') t.equal(end.reason.code, 'ORC_TRANSITION')
  }
  const { total_completed, total_failed, total_cancelled, locked_files } = service.status()
  t.equal(total_completed + total_failed + total_cancelled, 20)
  t.equal(locked_files, 0)
  await kernel.close()
})

t.test('the lock of a retired agent is released for others', async t => {
  const { kernel, service: tasks } = await openWhole(join(folder, 'gone.db'), {
    settings: { heartbeat_interval_ms: 100, stale_threshold_ms: 100 }
  })
  const service = tasks()
  const other = await service.spawnAgent({ name: 'other' })
  const work = async (agent: number, path: string): Promise<number> => {
    const { name } = service.agent(agent)!
    const { task_id } = await service.submit({ description: 'Hold it', files: write(path), agent_name: name })
    await service.next(agent)
    t.match(service.locks().find(lock => lock.path === path)?.holders, [agent])
    return task_id
  }
  const wants = (path: string) => service.submit({ description: 'Mine', files: write(path), agent_name: 'other' })

  const retired = await service.spawnAgent({ name: 'retired' })
  const left = await work(retired.id, 'src/retired.ts')
  await t.rejects(wants('src/retired.ts'), { code: 'ORC_LOCK_CONFLICT' })
  t.match(await service.retireAgent(retired.id), { tasks: [{ id: left }] })
  t.match(await wants('src/retired.ts'), { agent_id: other.id })

  const silent = await service.spawnAgent({ name: 'silent', dynamic: true })
  const moved = await work(silent.id, 'src/silent.ts')
  const signal = service.taskSignal(moved)
  await until(() => service.agent(silent.id) === null)
  t.ok(signal.aborted, 'the worker of the task is notified')
  const { agent_id, status } = service.task(moved)!
  t.equal(status.kind, 'Queued', 'the task is queued for another agent')
  t.not(service.agent(agent_id), null)
  t.match(service.locks().find(({ path }) => path === 'src/silent.ts')?.holders, [agent_id])
  await kernel.close()
})
