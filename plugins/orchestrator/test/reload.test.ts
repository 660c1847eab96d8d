import {
  type AgentEvent,
  type DatabaseStore,
  databaseStore,
  type Orchestrator,
  orchestrator as orchestratorToken
} from '@svc/contracts'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import '../../database/test/built-worker.ts'
import database from '@svc/plugin-database'
import tools from '@svc/plugin-orchestrator-tools'
import sessions from '@svc/plugin-sessions'
import plugin from '#plugin'

const RELOADS = 20
const WORKERS = 4
const settings = { orchestrator: { stubcheck_gate: false, auto_continue_enabled: false } }

interface Held {
  readonly tasks: { readonly current: Orchestrator }
  readonly store: { readonly current: DatabaseStore } | undefined
}

async function served(
  t: { teardown(run: () => unknown): unknown },
  withDatabase: boolean,
  others: readonly unknown[] = []
): Promise<{ readonly kernel: TestKernel; readonly held: Held }> {
  let held: Held | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { tasks: ref(orchestratorToken) },
    optional: { store: ref(databaseStore) },
    activate: (_ctx, deps) => {
      held = deps
    }
  })
  const plugins = [...(withDatabase ? [database] : []), plugin, ...others, probe] as Plugin[]
  const kernel = await testKernel(plugins, { settings })
  t.teardown(() => kernel.close())
  return { kernel, held: held as Held }
}

async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 120_000; !isSo(); ) {
    if (Date.now() > deadline) throw new Error('the condition was not met in time')
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

/** Follows events through the operation, calls it again whenever it ends, and collects each event id once. */
function follow(kernel: TestKernel) {
  const stop = new AbortController()
  const ids: number[] = []
  let calls = 0
  const run = async () => {
    while (!stop.signal.aborted) {
      calls += 1
      await kernel
        .callById(
          'orchestrator.followEvents',
          { follow: true, limit: 1_024 },
          {
            signal: stop.signal,
            onEvent: event => {
              const { id } = event as AgentEvent
              if (id > (ids.at(-1) ?? 0)) ids.push(id)
            }
          }
        )
        .catch(() => {})
    }
  }
  const running = run()
  return {
    ids,
    calls: () => calls,
    async end() {
      stop.abort()
      await running
    }
  }
}

/** Submits, claims, reads and completes tasks of one agent until it is stopped. Returns the number of completed tasks. */
async function work(
  kernel: TestKernel,
  held: Held,
  agent: string,
  isRunning: () => boolean,
  completed: () => void
): Promise<number> {
  let done = 0
  while (isRunning()) {
    const request = { description: `Do part ${done}`, agent_name: agent }
    const { task_id, agent_id } = (await kernel.callById('orchestrator.submitTask', request)) as {
      task_id: number
      agent_id: number
    }
    const { current } = held.tasks
    const task = await current.next(agent_id)
    if (task?.id !== task_id) throw new Error(`next returned ${task?.id} instead of ${task_id}`)
    const signal = held.tasks.current.taskSignal(task_id)
    // A reload between these calls must not abort the task.
    await new Promise(setImmediate)
    if (signal.aborted) throw new Error(`task ${task_id} was aborted`)
    await kernel.callById('orchestrator.taskStatus', { task_id })
    await kernel.callById('orchestrator.completeTask', { task_id, checks_passed: ['tests'] })
    const view = current.task(task_id)
    if (view?.status.kind !== 'Completed' || view.recoveries !== 0)
      throw new Error(`task ${task_id} is ${view?.status.kind} after ${view?.recoveries} recoveries`)
    done += 1
    completed()
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  return done
}

for (const withDatabase of [false, true]) {
  const setup = withDatabase ? 'with a database, which is reloaded too' : 'without a database'
  t.test(`reloads under load have no visible effect, ${setup}`, async t => {
    const { kernel, held } = await served(t, withDatabase, [sessions, tools])
    const received: number[] = []
    held.tasks.current.subscribe(({ id }) => received.push(id))
    const follower = follow(kernel)
    let isRunning = true
    let completed = 0
    const workers = Array.from({ length: WORKERS }, (_, at) =>
      work(
        kernel,
        held,
        `agent-${at}`,
        () => isRunning,
        () => (completed += 1)
      )
    )
    const failed = Promise.all(workers).then(
      () => null,
      error => error
    )
    for (let at = 0; at < RELOADS; at += 1) {
      if (withDatabase && at % 3 > 0) await kernel.replace(database as Plugin)
      if (at % 3 < 2) await kernel.replace(plugin as Plugin)
      const before = completed
      await Promise.race([failed, until(() => completed > before + WORKERS)])
    }
    isRunning = false
    t.equal(await failed, null)
    const done = (await Promise.all(workers)).reduce((sum, each) => sum + each, 0)
    const { current } = held.tasks
    t.match(current.status(), {
      total_completed: done,
      total_in_progress: 0,
      total_queued: 0,
      outbox: { pending: 0 },
      durability: { kind: withDatabase ? 'database' : 'memory' }
    })
    t.equal((await current.submit({ description: 'One more', files: [] })).task_id, done + 1, 'task ids have no gaps')
    const last = current.recentEvents().at(-1)?.id ?? 0
    const all = Array.from({ length: last }, (_, at) => at + 1)
    t.same(received, all)
    await follower.end()
    t.same(follower.ids, all)
    if (!withDatabase) t.equal(follower.calls(), 1)
    t.comment(`${done} tasks, ${last} events, ${follower.calls()} calls of the follower`)
  })
}
