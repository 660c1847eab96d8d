import { type DatabaseStore, databaseStore } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { Engine, Occurrences, type Policy, processEvent, validateEvent } from '#pipeline'
import { loadState, newRows, newUserState, RewardStore, type UserState } from '#store'
import { openReward } from './world.ts'

const TYPES = [
  ...['task_completed', 'build_failed', 'build_clean', 'test_pass', 'test_fail', 'lint_clean', 'snapshot_captured'],
  ...['bug_fix', 'doc_added', 'task_resolved', 'mcp_tool_called', 'unknown_type', 'ai_thumbs_up', 'task_doubted']
] as const

const POLICY: Policy = {
  mode: 'learning',
  channel: 'balanced',
  verbosity: 'rich',
  maxMessagesPerHour: 12,
  experiment: '',
  experimentFactor: 1,
  tier: 'linked'
}

const SETTINGS = {
  emergency_off: false,
  session_mode: 'learning',
  verbosity: 'rich',
  max_messages_per_hour: 12,
  teaching: 'fixed',
  pollinations_url: 'http://127.0.0.1:9',
  retention_days: 90,
  mcp_tool_args: 'full'
} as const

const START = Date.parse('2026-03-01T22:00:00Z')

const events = fc.array(
  fc.record({
    type: fc.constantFrom(...TYPES),
    id: fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined }),
    gapMs: fc.constantFrom(0, 1_000, 60_000, 400_000, 4_000_000, 90_000_000),
    /** Whether the engine has committed everything before this event. */
    flush: fc.boolean()
  }),
  { minLength: 1, maxLength: 25 }
)

/** State as plain data. Maps are sorted, since the order of rows means nothing. */
function plain(state: UserState): unknown {
  const sorted = (map: ReadonlyMap<string, unknown>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1))
  const { profile, companion, counters, combos, achievements, teaching } = state
  return JSON.parse(
    JSON.stringify({
      profile,
      companion,
      counters: sorted(counters),
      combos: sorted(combos),
      achievements: sorted(achievements),
      teaching: sorted(teaching)
    })
  )
}

t.test('events in any batches have the same effect as one after the other in memory', async t => {
  let database: DatabaseStore | undefined
  await openReward(t, {}, [
    definePlugin({
      name: 'probe',
      requires: { database: databaseStore },
      activate: (_, deps) => {
        database = deps.database
      }
    }) as Plugin
  ])
  if (database === undefined) throw new Error('no database')
  const store = new RewardStore(database)
  const db = database
  let run = 0
  await fc.assert(
    fc.asyncProperty(events, async list => {
      const user = `user ${run++}`
      let now = START
      const engine = new Engine({
        store,
        settings: () => ({ ...SETTINGS, user_id: user }),
        counts: new Map(),
        log: { info() {}, debug() {}, warn() {} },
        changed() {},
        switched() {},
        now: () => now
      })
      const model = newUserState(user, START)
      const rows = newRows()
      const occurrences = new Occurrences(new Map())
      let duplicates = 0
      for (const { type, id, gapMs, flush } of list) {
        now += gapMs
        const event = { type, validated: id === 1, ...(id === undefined ? {} : { ludus_dedupe_id: String(id) }) }
        engine.accept(event)
        if (!processEvent(model, rows, occurrences, POLICY, validateEvent(event, now))) duplicates += 1
        if (flush) await engine.flush()
      }
      await engine.flush()
      const loaded = await loadState(db, { user, days: [], keys: [], now })
      // A new profile is created when its first batch is loaded, so its clock of energy starts there.
      t.strictSame(plain(loaded), plain(model))
      t.match(engine.figures, { processed: list.length - duplicates, duplicates, invalid: 0, lost: 0 })
      const count = async (table: string) =>
        Number((await db.query(`SELECT count(*) FROM ${table} WHERE user_id = ?`, [user])).rows[0]?.[0])
      t.equal(await count('gamify_policy_snapshots'), rows.snapshots.length)
      t.equal(await count('gamify_notifications'), rows.messages.length)
      t.equal(await count('gamify_hint_telemetry'), rows.hints.length)
      t.equal(await count('gamify_processed_events'), rows.processed.length)
      return t.passing()
    }),
    { numRuns: 25 }
  )
})
