import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { Orchestrator } from '@svc/contracts'
import t, { type Test } from 'tap'
import { CHILD_ARGUMENTS } from '../child-arguments.ts'
import { DONE, type Fact } from './orchestrator-faults/story.ts'
import { openWhole } from './orchestrator-faults/whole.ts'

const CHILD = join(import.meta.dirname, 'orchestrator-faults', 'child.ts')
const folder = mkdtempSync(join(tmpdir(), 'svc-faults-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))

interface Life {
  readonly child: ChildProcessByStdio<null, Readable, null>
  readonly lines: string[]
  /** Resolves when the process has printed the line, or has ended. */
  until(line: string): Promise<void>
  readonly ended: Promise<unknown>
}

function live(t: Test, file: string, point: string, at = 0, images = ''): Life {
  const args = [...CHILD_ARGUMENTS, CHILD, file, point, String(at), images]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const waiting = new Map<string, () => void>()
  const reader = createInterface(child.stdout)
  reader.on('line', line => {
    lines.push(line)
    waiting.get(line)?.()
  })
  const ended = Promise.all([once(child, 'exit'), once(reader, 'close')])
  const until = (line: string): Promise<void> =>
    lines.includes(line)
      ? Promise.resolve()
      : Promise.race([new Promise<void>(resolve => waiting.set(line, resolve)), ended.then(() => {})])
  return { child, lines, until, ended }
}

/** State that must exist after a crash according to the printed lines, and state that may exist. */
class Expected {
  /** Possible states of each task, the last acknowledged first. */
  readonly tasks = new Map<number, { may: string[]; agent?: number }>()
  readonly agents = new Map<number, string>()
  readonly owners = new Set<string>()
  readonly plans = new Map<string, string>()
  /** Number of submits that were not acknowledged. */
  open = 0

  constructor(lines: readonly string[]) {
    for (const line of lines) {
      const sign = line[0]
      if (sign !== '?' && sign !== '!') continue
      this.#take(sign, JSON.parse(line.slice(2)) as Fact)
    }
  }

  #take(sign: '?' | '!', fact: Fact): void {
    if ('submits' in fact) this.open += fact.submits
    else if ('task' in fact) {
      const { may = [], agent } = this.tasks.get(fact.task) ?? {}
      const told = fact.agent ?? agent
      this.tasks.set(fact.task, {
        may: sign === '!' ? [fact.status] : [...may, fact.status],
        ...(told === undefined ? {} : { agent: told })
      })
    } else if ('agent' in fact) this.agents.set(fact.agent, fact.name)
    else if ('file' in fact) this.owners.add(fact.file)
    else this.plans.set(fact.plan, fact.goal)
  }
}

const ENDED = new Set(['Completed', 'Failed', 'Cancelled'])

/** Compares counters and views with counts that are recomputed from the tasks. */
function recount(service: Orchestrator, wrong: string[], when: string): void {
  const tasks = service.tasks()
  const status = service.status()
  const say = (is: unknown, should: unknown, what: string): void => {
    if (is !== should) wrong.push(`${when}: ${what} is ${is}, but the tasks give ${should}`)
  }
  const count = (kind: string, of = tasks): number => of.filter(({ status }) => status.kind === kind).length
  say(status.total_queued, count('Queued'), 'total_queued')
  say(status.total_in_progress, count('InProgress'), 'total_in_progress')
  say(status.total_blocked, count('Blocked'), 'total_blocked')
  say(status.total_blocked_on_approval, count('BlockedOnApproval'), 'total_blocked_on_approval')
  say(status.total_doubted, count('Doubted'), 'total_doubted')
  say(status.total_completed, count('Completed'), 'total_completed')
  say(status.total_failed, count('Failed'), 'total_failed')
  say(status.total_cancelled, count('Cancelled'), 'total_cancelled')
  for (const { id, queued, doubted, urgent, normal, background } of service.agents()) {
    const own = tasks.filter(({ agent_id }) => agent_id === id)
    say(queued, count('Queued', own), `queued of A-${id}`)
    say(urgent + normal + background, queued, `the priorities of A-${id}`)
    say(doubted, count('Doubted', own), `doubted of A-${id}`)
  }
  for (const { id, agent_id, status } of tasks)
    if (!ENDED.has(status.kind) && service.agent(agent_id) === null) wrong.push(`${when}: T-${id} has no agent`)
  const locks = service.locks()
  say(status.locked_files, locks.length, 'locked_files')
  for (const { path, task_id = 0, holders } of locks) {
    const task = service.task(task_id)
    if (task === null || ENDED.has(task.status.kind)) wrong.push(`${when}: ${path} is locked for T-${task_id}`)
    else if (!holders.includes(task.agent_id)) wrong.push(`${when}: ${path} is locked by A-${holders}`)
  }
}

/**
 * Completes all tasks. Returns the order in which each agent claimed them, which must be by priority and then by id.
 */
async function finish(service: Orchestrator): Promise<ReadonlyMap<number, readonly number[]>> {
  const orders = new Map<number, number[]>()
  for (const { id } of service.agents()) {
    const order: number[] = []
    for (let next = await service.next(id); next !== null; next = await service.next(id)) {
      order.push(next.priority === 'Urgent' ? next.id - 1_000 : next.id)
      await service.complete(next.id, DONE)
    }
    orders.set(id, order)
  }
  return orders
}

/** Checks that all acknowledged changes are present, and that the remaining tasks can be done. Returns the problems. */
async function examine(file: string, lines: readonly string[]): Promise<readonly string[]> {
  const expected = new Expected(lines)
  const wrong: string[] = []
  const check = (is: boolean, what: string): void => {
    if (!is) wrong.push(what)
  }
  const first = await openWhole(file)
  const service = first.service()
  recount(service, wrong, 'at the start')
  const tasks = service.tasks()
  for (const { id, status, agent_id, recoveries } of tasks) {
    const { may, agent } = expected.tasks.get(id) ?? {}
    if (may === undefined) continue
    const was = recoveries > 0 && status.kind === 'Queued' && may.includes('InProgress') ? 'InProgress' : status.kind
    check(may.includes(was), `T-${id} is ${status.kind}, not ${may}`)
    check(recoveries === (was === 'InProgress' ? 1 : 0), `T-${id} was ${was}, but has ${recoveries} recoveries`)
    check(agent === undefined || agent_id === agent, `T-${id} belongs to A-${agent_id}, not to A-${agent}`)
  }
  const unknown = tasks.filter(({ id }) => !expected.tasks.has(id)).length
  check(unknown <= expected.open + expected.plans.size, `${unknown} tasks that were not requested`)
  for (const id of expected.tasks.keys()) check(service.task(id) !== null, `T-${id} is missing`)
  for (const [id, name] of expected.agents) check(service.agent(id)?.name === name, `A-${id} is missing`)
  for (const path of expected.owners) check(service.fileOwner(path) !== null, `${path} has no owner`)
  for (const [session_id, goal] of expected.plans) {
    const plan = (await first.kernel.callById('ai.plan.status', { session_id })) as { readonly goal: string }
    check(plan.goal === goal, `plan ${session_id} is missing`)
  }
  const sql = "SELECT task_id FROM orchestration_lineage_events WHERE kind = 'task_submitted' ORDER BY id"
  const submitted = (await first.store.query(sql)).rows.map(([id]) => Number(id))
  const ids = service.tasks().map(({ id }) => id)
  check(
    tasks.every(({ id }) => submitted.includes(id)),
    `the tasks are ${ids}, but the lineage has ${submitted}`
  )
  check(
    submitted.every((id, at) => at === 0 || id > (submitted[at - 1] as number)),
    `the lineage is not ordered by id: ${submitted}`
  )
  const recovered = new Map(tasks.map(({ id, recoveries }) => [id, recoveries]))
  await first.kernel.close()

  const second = await openWhole(file)
  const again = second.service()
  for (const { id, recoveries } of again.tasks())
    check((recovered.get(id) ?? 0) === recoveries, `T-${id} was recovered again`)
  for (const [id, order] of await finish(again))
    check(
      order.every((at, index) => index === 0 || at > (order[index - 1] as number)),
      `A-${id} claimed tasks in the wrong order: ${order}`
    )
  const open = again.tasks().filter(({ plan, status }) => plan === undefined && status.kind === 'Queued')
  check(open.length === 0, `${open.map(({ id }) => id)} cannot be done`)
  const { task_id } = await again.submit({ description: 'one more', files: [] })
  check(
    ids.every(id => id < task_id),
    `the id ${task_id} was assigned before`
  )
  recount(again, wrong, 'after all tasks were completed')
  await second.kernel.close()
  return wrong
}

t.test('a process that is killed before any of its writes leaves all acknowledged changes', async t => {
  const images = join(folder, 'images')
  mkdirSync(images)
  const life = live(t, join(folder, 'story.db'), 'images', 0, images)
  await life.until('done')
  life.child.kill('SIGKILL')
  await life.ended
  t.equal(life.lines.at(-1), 'done', life.lines.slice(-3).join('\n'))
  const moments = life.lines.flatMap((line, at) => (line.startsWith('@ ') ? [{ at, name: line.slice(2) }] : []))
  t.ok(moments.length > 30, `${moments.length} writes`)
  const begun = life.lines.findIndex(line => line.startsWith('!'))
  const wrong: Record<string, readonly string[]> = {}
  const left = moments.filter(moment => moment.at > begun)
  const examiner = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const found = await examine(join(images, `${next.name}.db`), life.lines.slice(0, next.at))
      if (found.length > 0) wrong[`before write ${next.name}`] = found
    }
  }
  await Promise.all(Array.from({ length: 6 }, examiner))
  t.same(wrong, {})
})

for (const [point, at] of [
  ['inside', 16],
  ['after', 25]
] as const)
  t.test(`a process that is really killed (${point}, transaction ${at}) leaves all acknowledged changes`, async t => {
    const file = join(folder, `${point}.db`)
    const life = live(t, file, point, at)
    await life.ended
    t.notOk(life.lines.includes('done'))
    t.same(await examine(file, life.lines), [])
  })
