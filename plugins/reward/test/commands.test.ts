import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, t as schema } from '@svc/plugin-sdk'
import t from 'tap'
import { operations } from '#operations'
import { concealed, Engine, EventSpool, userFolder, validateEvent } from '#pipeline'
import { battleStart, battleSubmit, switchOff, switchOn } from '#root'
import { completedCombos } from '#rules'
import { loadState, RewardStore } from '#store'
import { openReward } from './world.ts'

const DAY_MS = 86_400_000
const START = Date.parse('2026-03-02T10:00:00Z')

/** Operation with the name of the compiler's. */
const checks = defineOperation({
  id: 'compiler.check',
  summary: 'Check source',
  input: schema.object({ source: schema.string() }),
  output: schema.object({ ok: schema.boolean(), text: schema.string() }),
  effect: 'read'
})

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
function openEngine(database: PrimaryDatabase, directory: string, now: number, settings: object = {}): Engine {
  return new Engine({
    store: new RewardStore(database),
    settings: () =>
      ({
        emergency_off: false,
        verbosity: 'normal',
        max_messages_per_hour: 12,
        mcp_tool_args: 'full',
        user_id: 'ada',
        ...settings
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
  t.same(await earned(), [...day, 23], 'the next day begins with novelty again')
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

t.test('after svc reward off, a command leaves nothing, unless its settings switch rewards on', async t => {
  const database = await openStore(t)
  const directory = t.testdir()
  const folder = join(directory, 'events')
  const files = (): string[] => (existsSync(folder) ? readdirSync(folder) : [])
  const command = async (settings: object = {}): Promise<void> => {
    const short = openEngine(database, directory, START, settings)
    short.accept({ type: 'check_completed' })
    await short.close()
  }
  const setting = openEngine(database, directory, START)
  await setting.noteSwitch(null)
  t.same(files(), [])
  await setting.noteSwitch(false)
  await command()
  t.same(files(), ['off'])
  await command({ session_enabled: true })
  t.equal(files().length, 2, 'a setting of the session is stronger')
  await setting.noteSwitch(true)
  t.equal(files().length, 1)
  await command()
  t.equal(files().length, 2)
  await setting.noteSwitch(false)
  // The database does not say that rewards are off: its next reader corrects the file.
  await openEngine(database, directory, START).flush()
  t.same(files(), [])
})

t.test('the switch is noted by the operations that store it or read it', async t => {
  const kernel = await openReward(t)
  const folder = join(kernel.root, '.vox', 'plugins', 'reward')
  const notes = (): string[] =>
    existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name => /off$/.test(name))
      : []
  t.match(await kernel.call(switchOff, {}), { enabled: false })
  t.match(notes(), [/^user-[0-9a-f]{16}.events.off$/])
  t.match(await kernel.call(switchOn, {}), { enabled: true })
  t.same(notes(), [])
})

t.test('each user has another folder, whatever the name contains', async t => {
  const names = ['ada', 'bob', '../..', 'a/b', '\0', 'größe'].map(userFolder)
  t.equal(new Set(names).size, names.length)
  for (const name of names) t.match(name, /^user-[0-9a-f]{16}$/)
})

t.test('secrets are concealed, and the stored event stays JSON also if one is a number', async t => {
  const mask = (text: string): string => text.replaceAll('47114711', '***')
  const valid = validateEvent(
    { type: 'mcp_tool_called', arguments: { pin: 47114711, text: 'pin 47114711', n: 5 } },
    START
  )
  t.same(JSON.parse(concealed(valid, mask).json), {
    type: 'mcp_tool_called',
    arguments: { pin: '***', text: 'pin ***', n: 5 }
  })
  const text = validateEvent({ type: 'bug_fix', note: '47114711' }, START)
  t.same(JSON.parse(concealed(text, mask).json), { type: 'bug_fix', note: '***' })
  t.equal(concealed(valid), valid)
})

t.test('won battles earn less from the 16th of a day on, and nothing from the 31st on', async t => {
  let database: PrimaryDatabase | undefined
  const compiler = definePlugin({
    name: 'compiler',
    operations: [checks],
    requires: { database: databaseStore },
    activate: (ctx, deps) => {
      database = deps.database
      ctx.implement(checks, () => ({ ok: true, text: '' }))
    }
  }) as Plugin
  const kernel = await openReward(t, {}, [compiler])
  const win = async () => {
    const { battle_id, code } = await kernel.call(battleStart, {})
    return await kernel.call(battleSubmit, { battle_id, code })
  }
  const copy = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index++)
      await database?.execute(
        `INSERT INTO gamify_battles (id, user_id, companion_id, bug_type, bug_description, bug_code, success, started_at)
         SELECT ?, user_id, companion_id, bug_type, bug_description, bug_code, 1, max(started_at) FROM gamify_battles`,
        [`copy ${randomUUID()}`]
      )
  }
  t.match(await win(), { xp_earned: 60, crystals_earned: 20 })
  await copy(14)
  t.match(await win(), { xp_earned: 30, crystals_earned: 10 })
  await copy(14)
  t.match(await win(), { success: true, xp_earned: 0, crystals_earned: 0 })
})

t.test('fields in the paths of routes are written as :name', async t => {
  for (const { id, expose } of operations) t.notMatch(expose?.http?.path ?? '', /[{}]/, id)
})
