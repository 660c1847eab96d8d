import { type DatabaseStore, databaseStore } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { progressSnapshot } from '#root'
import { Retention, RewardStore } from '#store'
import { openReward } from './world.ts'

const NOW = Date.parse('2026-11-27T12:00:00Z')
const OLD = '2026-08-29 11:59:59'
const KEPT = '2026-08-29 12:00:01'

async function open(test: Parameters<typeof openReward>[0]) {
  let database: DatabaseStore | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, deps) => {
      database = deps.database
    }
  }) as Plugin
  const kernel = await openReward(test, {}, [probe])
  await kernel.call(progressSnapshot, {})
  if (database === undefined) throw new Error('no database')
  const store = database
  const event = (count: number, type: string, payload: string, at: string) =>
    store.execute(
      `INSERT INTO agent_events (agent_id, event_type, payload_json, timestamp)
       SELECT 'ada', ?2, ?3, ?4 FROM json_each(?1)`,
      [JSON.stringify(Array.from({ length: count }, () => 0)), type, payload, at]
    )
  const snapshot = (type: string, at: string) =>
    store.execute("INSERT INTO gamify_policy_snapshots (user_id, event_type, created_at) VALUES ('ada', ?, ?)", [
      type,
      at
    ])
  const rows = async (table: string, time: string) =>
    (await store.query(`SELECT event_type, ${time}, count(*) FROM ${table} GROUP BY 1, 2 ORDER BY 1, 2`)).rows
  const changes = { count: 0 }
  const retention = (days: number, afterBatch = (): void => undefined) => {
    const batches = new (class extends RewardStore {
      override async batch(statements: Parameters<RewardStore['batch']>[0]): Promise<number> {
        const changed = await super.batch(statements)
        afterBatch()
        return changed
      }
    })(store)
    return new Retention({
      store: batches,
      days: () => days,
      changed: () => {
        changes.count += 1
      },
      log: { warn: message => test.fail(message) }
    })
  }
  return { event, snapshot, rows, retention, changes }
}

const { signal } = new AbortController()

t.test(
  'events and rewards that are older than the setting are deleted, and those of other plugins are kept',
  async t => {
    const { event, snapshot, rows, retention, changes } = await open(t)
    await event(450, 'bug_fix', '{"type":"bug_fix"}', OLD)
    await event(1, 'llm_turn', '{"model":"toy"}', OLD)
    await event(1, 'broken', 'no JSON', OLD)
    await event(300, 'bug_fix', '{"type":"bug_fix"}', KEPT)
    await snapshot('bug_fix', OLD)
    await snapshot('bug_fix', KEPT)
    t.equal(await retention(90).prune(NOW, signal), 451)
    t.same(await rows('agent_events', 'timestamp'), [
      ['broken', OLD, 1],
      ['bug_fix', KEPT, 300],
      ['llm_turn', OLD, 1]
    ])
    t.same(await rows('gamify_policy_snapshots', 'created_at'), [['bug_fix', KEPT, 1]])
    t.equal(changes.count, 1)
    t.equal(await retention(90).prune(NOW, signal), 0)
    t.equal(changes.count, 1)
  }
)

t.test('with 0 days everything is kept', async t => {
  const { event, rows, retention } = await open(t)
  await event(1, 'bug_fix', '{"type":"bug_fix"}', OLD)
  t.equal(await retention(0).prune(NOW, signal), 0)
  t.same(await rows('agent_events', 'timestamp'), [['bug_fix', OLD, 1]])
})

t.test('a retention that is ended while it deletes stops after its batch', async t => {
  const { event, rows, retention } = await open(t)
  await event(500, 'bug_fix', '{"type":"bug_fix"}', OLD)
  const controller = new AbortController()
  const pruned = retention(90, () => controller.abort(new Error('drained'))).prune(NOW, controller.signal)
  await t.rejects(pruned)
  t.same(await rows('agent_events', 'timestamp'), [['bug_fix', OLD, 300]])
})
