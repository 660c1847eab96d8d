import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { Engine, EventQueue } from '#pipeline'
import { progressSnapshot } from '#root'
import { RewardStore } from '#store'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { openReward, send } from './world.ts'

const SETTINGS = {
  emergency_off: false,
  verbosity: 'normal',
  max_messages_per_hour: 12,
  mcp_tool_args: 'full',
  teaching: 'fixed',
  pollinations_url: 'http://127.0.0.1:9',
  retention_days: 90,
  user_id: 'ada'
} as const

async function openWithDatabase(t: Parameters<typeof openReward>[0], path = 'test.db') {
  let database: PrimaryDatabase | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, deps) => {
      database = deps.database
    }
  }) as Plugin
  const kernel = await openReward(t, {}, [probe], path)
  if (database === undefined) throw new Error('no database')
  const store = database
  const number = async (sql: string): Promise<number> => Number((await store.query(sql)).rows[0]?.[0])
  return { kernel, store, number }
}

for (const acknowledgements of [1, 6, 13])
  t.test(
    `a process that is killed after ${acknowledgements} commits has counted each event once or not at all`,
    async t => {
      const path = join(t.testdir(), 'killed.db')
      const child = fork(join(import.meta.dirname, 'kill-child.ts'), [path], {
        execArgv: [...CHILD_ARGUMENTS]
      })
      const committed: number[] = []
      child.on('message', id => {
        committed.push(Number(id))
        if (committed.length === acknowledgements) child.kill('SIGKILL')
      })
      await once(child, 'exit')
      t.ok(committed.length >= acknowledgements, `${committed.length} commits`)
      const { kernel, number } = await openWithDatabase(t, path)
      const before = await number('SELECT count(*) FROM gamify_processed_events')
      t.ok(before > Math.max(...committed), 'acknowledged events are there')
      t.equal(await number('SELECT count(*) FROM agent_events'), before)
      const count = before + 10
      t.equal(
        await number('SELECT xp FROM gamify_profiles'),
        await number('SELECT sum(awarded_xp) FROM gamify_policy_snapshots'),
        'the total is that of the rewards'
      )
      for (let id = 0; id < count; id++) await send(kernel, { type: 'bug_fix', ludus_dedupe_id: String(id) } as never)
      t.match(await kernel.call(progressSnapshot, {}), { events: { processed: count - before, duplicates: before } })
      t.equal(await number('SELECT count(*) FROM agent_events'), count)
      t.equal(await number('SELECT count(DISTINCT dedupe_key) FROM gamify_processed_events'), count)
      t.equal(
        await number('SELECT xp FROM gamify_profiles'),
        await number('SELECT sum(awarded_xp) FROM gamify_policy_snapshots')
      )
    }
  )

t.test('a batch is tried again after errors of the database, and then counts once', async t => {
  const { store, number } = await openWithDatabase(t)
  let failures = 2
  const counts = new Map<string, number>()
  const warnings: string[] = []
  const engine = new Engine({
    store: new RewardStore({
      ...store,
      migrate: sql => store.migrate(sql),
      batch: statements => store.batch(statements),
      query: (sql, parameters) => store.query(sql, parameters),
      transaction: async run =>
        store.transaction(async tx => {
          const result = await run(tx)
          // Fails after all statements, before the commit.
          if (failures-- > 0) throw new Error('the disk is full')
          return result
        })
    } as PrimaryDatabase),
    settings: () => SETTINGS,
    counts,
    log: { info() {}, debug() {}, warn: message => void warnings.push(message) },
    changed() {},
    switched() {}
  })
  engine.accept({ type: 'bug_fix' })
  await engine.flush()
  t.match(engine.figures, { processed: 1, lost: 0 })
  t.same([...counts.values()], [1], 'the occurrence counts once')
  t.equal(await number('SELECT count(*) FROM agent_events'), 1)
  failures = 100
  engine.accept({ type: 'bug_fix' })
  await engine.flush()
  t.match(engine.figures, { processed: 1, lost: 1 })
  t.same([...counts.values()], [1])
  t.equal(warnings.length, 1)
  failures = 0
  engine.accept({ type: 'bug_fix' })
  await engine.flush()
  t.match(engine.figures, { processed: 2, lost: 1 })
})

t.test('a full queue drops further events, counts them, and never blocks who sends them', async t => {
  const { store, number } = await openWithDatabase(t)
  const warnings: string[] = []
  const engine = new Engine({
    store: new RewardStore(store),
    settings: () => SETTINGS,
    counts: new Map(),
    log: { info() {}, debug() {}, warn: message => void warnings.push(message) },
    changed() {},
    switched() {}
  })
  for (let at = 0; at < 5_000; at++) engine.accept({ type: 'bug_fix' })
  t.match(engine.figures, { queued: 4_096, lost: 904 })
  await engine.flush()
  t.match(engine.figures, { queued: 0, processed: 4_096, lost: 904 })
  t.equal(await number('SELECT count(*) FROM agent_events'), 4_096)
  t.equal(
    await number("SELECT count(*) FROM gamify_policy_snapshots WHERE event_type = 'bug_fix'"),
    30,
    'the 31st earns nothing'
  )
  t.equal(warnings.length, 1)
})

t.test('the queue is bounded in characters, and does not walk a large event to its end', async t => {
  const queue = new EventQueue()
  let added = 0
  while (queue.add({ type: 'x', text: 'x'.repeat(200_000) }, 0)) added += 1
  t.ok(added > 50 && added < 100, `${added} events`)
  t.ok(queue.take().length < 15, 'a batch is bounded, too')
  let deep: Record<string, unknown> = {}
  const event = deep
  for (let depth = 0; depth < 100_000; depth++) deep = (deep.next = {}) as Record<string, unknown>
  t.notOk(new EventQueue().add(event, 0))
  const cyclic: Record<string, unknown> = { type: 'x' }
  cyclic.self = cyclic
  t.notOk(new EventQueue().add(cyclic, 0))
})
