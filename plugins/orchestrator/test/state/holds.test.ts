import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'
import type { HeldTask, RemoteWork } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { FakePlacer } from '../service/fake-placer.ts'
import { openTestOrchestrator, type TestOrchestrator } from '../service/test-orchestrator.ts'
import { assertInvariants } from './invariants.ts'

/** A command. `ends`: whether it may end all holds, any one, none, or only that of a certain task. */
interface Step {
  readonly name: string
  readonly ends: 'all' | 'one' | 'none' | number
  run(open: Opened): unknown
}

interface Opened extends TestOrchestrator {
  readonly placer: FakePlacer
  /** Keys of all holds so far, by task. */
  readonly keys: Map<number, string>
  /** Submits that wait for their placement. */
  readonly waiting: Promise<unknown>[]
}

const id = fc.integer({ min: 1, max: 10 })
const agent = fc.integer({ min: 1, max: 4 })
const DONE = { checks_passed: ['peer_review_approved'] }

const step = (name: string, ends: Step['ends'], run: Step['run']): Step => ({ name, ends, run })

/** A call of the remote work on a held task, with its key or a stale one. */
const remotely = (
  name: string,
  call: (remote: RemoteWork, task: number, key: string) => Promise<'done' | 'queued' | 'stale'>
): fc.Arbitrary<Step> =>
  fc.tuple(fc.nat(4), id, fc.boolean()).map(([at, other, isStale]) =>
    step(name, isStale ? 'none' : 'one', async ({ service: { remote }, keys }) => {
      const held = remote.held()
      const chosen = held[at % Math.max(held.length, 1)]
      const current = chosen?.delegate.idempotency_key
      const earlier = keys.get(other)
      const key = isStale ? (earlier === current ? 'orch-remote-0-0' : earlier) : current
      const outcome = await call(remote, chosen?.task_id ?? other, key ?? '')
      strictEqual(outcome !== 'stale', !isStale && chosen !== undefined, `${name} is ${outcome}`)
    })
  )

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .record({
        wanted: fc.constantFrom('yes', 'no', 'fails'),
        agent_name: fc.option(fc.constantFrom('one', 'two', 'three'), { nil: undefined }),
        files: fc.array(
          fc.record({ path: fc.constantFrom('a.ts', 'b/c.ts'), access: fc.constantFrom('read', 'write') }),
          { maxLength: 2 }
        ),
        waits: fc.boolean()
      })
      .map(({ wanted, waits, agent_name, files }) =>
        step('submit', 'none', open => {
          const request = { description: wanted, files, ...(agent_name === undefined ? null : { agent_name }) }
          const submitting = open.service.submit(request)
          // Others continue while the task is being placed.
          if (!waits) return submitting
          open.waiting.push(submitting.catch(() => {}))
          return undefined
        })
      )
  },
  {
    weight: 4,
    arbitrary: fc.nat(3).map(at =>
      // A failed placement ends its own hold.
      step('answer', 'all', async ({ placer }) => {
        const [pending] = placer.pending.splice(at % Math.max(placer.pending.length, 1), 1)
        if (pending?.task.description === 'fails') pending.reject(new Error('no route to host'))
        else pending?.resolve()
        for (let turns = 0; turns < 3; turns += 1) await new Promise(setImmediate)
      })
    )
  },
  { weight: 2, arbitrary: remotely('remote complete', (remote, task, key) => remote.complete(task, key, DONE)) },
  { weight: 2, arbitrary: remotely('remote fail', (remote, task, key) => remote.fail(task, key, 'it broke')) },
  { weight: 2, arbitrary: remotely('fall back', (remote, task, key) => remote.fallBack(task, key, 'lease lost')) },
  { weight: 2, arbitrary: agent.map(each => step('next', 'none', ({ service }) => service.next(each))) },
  id.map(task => step('complete', task, ({ service }) => service.complete(task, DONE))),
  id.map(task => step('fail', task, ({ service }) => service.fail(task, 'it broke'))),
  id.map(task => step('cancel', task, ({ service }) => service.cancel(task))),
  id.map(task => step('release', task, ({ service }) => service.release(task, 'given up'))),
  id.map(task => step('doubt', task, ({ service }) => service.doubt(task, 'odd'))),
  id.map(task => step('resolve', 'none', ({ service }) => service.resolveDoubt(task, 'validated', 'looked at'))),
  id.map(task => step('retry', 'none', ({ service }) => service.retry(task))),
  id.map(task => step('reorder', 'none', ({ service }) => service.reorder(task, 'Urgent'))),
  agent.map(each => step('drain', 'none', ({ service }) => service.drainAgent(each))),
  agent.map(each => step('retire', 'all', ({ service }) => service.retireAgent(each))),
  agent.map(each => step('pause', 'none', ({ service }) => service.pauseAgent(each))),
  agent.map(each => step('resume', 'none', ({ service }) => service.resumeAgent(each))),
  agent.map(each => step('spawn', 'none', ({ service }) => service.spawnAgent({ name: 'two', dynamic: each > 1 }))),
  agent.map(each => step('heartbeat', 'none', async ({ service }) => service.heartbeat(each, 'idle'))),
  fc.constant(step('rebalance', 'none', ({ service }) => service.rebalance())),
  fc.constant(step('replay', 'none', ({ service }) => service.replayQueuedRoutes())),
  {
    weight: 4,
    arbitrary: fc.tuple(agent, agent, fc.boolean()).map(([from, to, hasFiles]) =>
      step('handoff', 'none', ({ service }) =>
        service.handoff({
          from_agent: from,
          to_agent: to,
          plan_summary: 'the rest',
          pending_tasks: service
            .tasks({ agent: from })
            .flatMap(task => (task.ended_at_ms === undefined ? task.id : [])),
          owned_files: hasFiles ? ['a.ts'] : [],
          verification_criteria: ['it works'],
          metadata: [['execution_role', 'builder']]
        })
      )
    )
  },
  // Dynamic agents are dead after 10 s without a heartbeat; holds last for 1,000 s.
  fc.integer({ min: 1, max: 20_000 }).map(elapsedMs =>
    step('tick', 'none', async open => {
      open.advanceClock(elapsedMs)
      await open.tick()
    })
  ),
  fc.constant(
    step('timeout', 'all', async open => {
      open.advanceClock(1_000_001)
      await open.tick()
    })
  )
)

t.test('only its own result, its timeout and a command on its task end a hold, and no command moves it', async t => {
  let holds = 0
  const ended = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 20, maxLength: 80, size: 'max' }), async run => {
      const teardowns: (() => unknown)[] = []
      const placer = new FakePlacer()
      placer.wants = ({ description }) => description !== 'no'
      const opened = await openTestOrchestrator(
        { teardown: each => teardowns.push(each) },
        {
          placers: [placer],
          settings: {
            tier_enforcement: false,
            mesh_remote_lease_timeout_ms: 1_000_000,
            stale_threshold_ms: 1_000,
            max_agents: 5
          }
        }
      )
      const open: Opened = { ...opened, placer, keys: new Map(), waiting: [] }
      const { service } = open
      const withdrawn: string[] = []
      service.remote.withdrawn((_task, delegate) => void withdrawn.push(delegate.idempotency_key))
      try {
        for (const each of run) {
          const before = service.remote.held()
          await attempt(open, each)
          assertInvariants(open.world)
          const after = new Map(service.remote.held().map(held => [held.task_id, held]))
          for (const held of before) assertKept(each, held, after.get(held.task_id), service, ended)
          const lost = before.filter(({ task_id }) => !after.has(task_id)).length
          ok(each.ends !== 'one' || lost <= 1, `${each.name} ended ${lost} holds`)
          for (const { task_id, delegate } of after.values()) open.keys.set(task_id, delegate.idempotency_key)
        }
        holds += open.keys.size
        for (const pending of placer.pending.splice(0)) pending.resolve()
        await Promise.all(open.waiting)
        assertInvariants(open.world)
        const twice = withdrawn.filter((each, at) => withdrawn.indexOf(each) !== at)
        for (const each of twice)
          ok(withdrawn.filter(other => other === each).length === 2, `${each} is withdrawn often`)
      } finally {
        for (const each of teardowns.reverse()) await each()
      }
    }),
    { numRuns: 75 }
  )
  t.ok(holds > 100, `${holds} holds`)
  for (const name of ['remote complete', 'remote fail', 'fall back', 'retire', 'timeout', 'answer'])
    t.ok((ended.get(name) ?? 0) > 0, `${name} ended ${ended.get(name)} holds`)
})

async function attempt(open: Opened, each: Step): Promise<void> {
  let isDone = false
  const running = (async () => each.run(open))().finally(() => {
    isDone = true
  })
  const outcome = running.catch((error: unknown) => {
    if (!isSvcError(error) || !error.code.startsWith('ORC_')) throw error
  })
  // A submit that waits for its placement gets an answer now.
  while (!isDone) {
    await new Promise(setImmediate)
    if (isDone || each.name !== 'submit') continue
    const pending = open.placer.pending.pop()
    if (pending?.task.description === 'fails') pending.reject(new Error('no route to host'))
    else pending?.resolve()
  }
  await outcome
}

function assertKept(
  each: Step,
  held: HeldTask,
  now: HeldTask | undefined,
  service: TestOrchestrator['service'],
  ended: Map<string, number>
): void {
  const { task_id, agent_id, delegate } = held
  if (now !== undefined) {
    strictEqual(now.agent_id, agent_id, `${each.name} moved the held T-${task_id}`)
    strictEqual(now.delegate.idempotency_key, delegate.idempotency_key)
    deepStrictEqual(service.task(task_id)?.status, { kind: 'InProgress' })
    ok(service.agent(agent_id) !== null, `${each.name} removed the agent of the held T-${task_id}`)
    return
  }
  ok(each.ends === 'all' || each.ends === 'one' || each.ends === task_id, `${each.name} ended the hold of T-${task_id}`)
  ended.set(each.name, (ended.get(each.name) ?? 0) + 1)
}
