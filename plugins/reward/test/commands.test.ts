import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { Engine, EventSpool } from '#pipeline'
import { completedCombos } from '#rules'
import { loadState, RewardStore } from '#store'
import { openReward } from './world.ts'

const DAY_MS = 86_400_000
const START = Date.parse('2026-03-02T10:00:00Z')

async function openStore(t: Parameters<typeof openReward>[0]): Promise<PrimaryDatabase> {
  let database: PrimaryDatabase | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, deps) => {
      database = deps.database
    }
  }) as Plugin
  await openReward(t, {}, [probe])
  if (database === undefined) throw new Error('no database')
  return database
}

/** Returns an engine as each process has it. */
function openEngine(database: PrimaryDatabase, directory: string, now: number): Engine {
  return new Engine({
    store: new RewardStore(database),
    settings: () =>
      ({
        emergency_off: false,
        verbosity: 'normal',
        max_messages_per_hour: 12,
        mcp_tool_args: 'full',
        user_id: 'ada'
      }) as never,
    counts: new Map(),
    log: { info() {}, debug() {}, warn: message => t.fail(message) },
    changed() {},
    switched() {},
    spool: new EventSpool(async () => directory),
    now: () => now
  })
}

t.test('a loop of single commands earns no more in a day than the events of one process', async t => {
  const database = await openStore(t)
  const directory = t.testdir()
  const command = async (at: number): Promise<void> => {
    const short = openEngine(database, directory, at)
    short.accept({ type: 'check_completed' })
    await short.close()
    // Such as svc reward status, which commits what others left.
    await openEngine(database, directory, at).flush()
  }
  const earned = async (): Promise<number[]> => {
    const { rows } = await database.query(
      "SELECT awarded_xp FROM gamify_policy_snapshots WHERE event_type = 'check_completed' ORDER BY id"
    )
    return rows.map(([xp]) => Number(xp))
  }
  for (let index = 0; index < 35; index++) await command(START + index * 1_000)
  // 15 xp x streak 1.02: once with novelty, 14 times in full, 10 times by half, 5 times by a tenth.
  const day = [23, ...Array(14).fill(15), ...Array(10).fill(8), ...Array(5).fill(2)]
  t.same(await earned(), day)
  await command(START + DAY_MS)
  t.same(await earned(), [...day, 23], 'the next day begins anew')
  const state = await loadState(database, { user: 'ada', days: [], keys: [], now: START })
  t.equal(state.counters.get('check_completed'), 36, 'all of them are counted')
})

t.test('a combo has no event that is later than the one that completes it', async t => {
  const recent = new Map([
    ['test_fail', [1, 2].map(sequence => ({ sequence, at: START }))],
    ['test_pass', [{ sequence: 3, at: START - 60_000 }]]
  ])
  t.same(completedCombos('test_pass', START - 60_000, recent, new Map()), [], 'the test passed before it failed')
  const after = new Map([...recent, ['test_pass', [{ sequence: 3, at: START + 60_000 }]]])
  t.same(
    completedCombos('test_pass', START + 60_000, after, new Map()).map(({ name }) => name),
    ['iron_will_recovery']
  )
})
