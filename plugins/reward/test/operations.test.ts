import { join, relative } from 'node:path'
import { PassThrough } from 'node:stream'
import { databaseStore, type PrimaryDatabase } from '@svc/contracts'
import { defineOperation, definePlugin, type Plugin, t as schema } from '@svc/plugin-sdk'
import t from 'tap'
import {
  battleStart,
  battleSubmit,
  checkMood,
  collegiumJoin,
  configOperation,
  configSet,
  digestOperation,
  eventsOperation,
  forgetOperation,
  hintsOperation,
  notificationAck,
  notificationsAckAll,
  notificationsList,
  prestigeOperation,
  progressSnapshot,
  shopBuy,
  shopCatalog,
  submitHandler,
  valuesOperation,
  valuesReset,
  valuesSet
} from '#root'
import { xpForLevel } from '#rules'
import { openReward, send } from './world.ts'

/** Operation with the name of the compiler's; it accepts programs that contain `fixed`. */
const check = defineOperation({
  id: 'compiler.check',
  summary: 'Check source',
  input: schema.object({ source: schema.string() }),
  output: schema.object({ ok: schema.boolean(), text: schema.string() }),
  effect: 'read'
})
const compiler = definePlugin({
  name: 'compiler',
  operations: [check],
  activate: ctx =>
    ctx.implement(check, ({ source }) => {
      const ok = source.includes('// fixed')
      return { ok, text: ok ? '' : 'error: still wrong' }
    })
}) as Plugin

function probe(take: (database: PrimaryDatabase) => void): Plugin {
  return definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, { database }) => take(database)
  }) as Plugin
}

t.test('notifications are listed, and marked as read one by one or all at once', async t => {
  const kernel = await openReward(t)
  await send(kernel, ...['task_completed', 'build_clean', 'bug_fix'].map(type => ({ type })))
  const { notifications } = await kernel.call(notificationsList, {})
  t.ok(notifications.length >= 3)
  const [first] = notifications
  const id = first?.id ?? 0
  t.match(await kernel.call(notificationAck, { id }), { id, acknowledged: true })
  t.match(await kernel.call(notificationAck, { id }), { id, acknowledged: true }, 'a second time changes nothing')
  t.equal((await kernel.call(notificationsList, {})).notifications.length, notifications.length - 1)
  t.equal((await kernel.call(notificationsList, { all: true })).notifications.length, notifications.length)
  t.match(await kernel.call(notificationsAckAll, {}), { acknowledged: notifications.length - 1 })
  t.same((await kernel.call(notificationsList, {})).notifications, [])
  await t.rejects(kernel.call(notificationAck, { id: 9_999 }), { code: 'RWD_NOTIFICATION_UNKNOWN' })
})

t.test('the shop sells what the crystals pay for, and nothing else', async t => {
  const kernel = await openReward(t)
  t.match(await kernel.call(shopCatalog, {}), { crystals: 100 })
  await t.rejects(kernel.call(shopBuy, { item: 'streak_shield' }), { code: 'RWD_CRYSTALS_MISSING' })
  await t.rejects(kernel.call(shopBuy, { item: 'moon' }), { code: 'RWD_ITEM_UNKNOWN' })
  t.match(await kernel.call(progressSnapshot, {}), { crystals: 100, streak_shields: 0 })
  await kernel.call(valuesSet, { type: 'gift', crystals: 200 })
  await send(kernel, { type: 'gift' })
  const { crystals = 0 } = await kernel.call(progressSnapshot, {})
  t.match(await kernel.call(shopBuy, { item: 'streak_shield' }), { price: 150, crystals: crystals - 150 })
  t.match(await kernel.call(progressSnapshot, {}), { crystals: crystals - 150, streak_shields: 1 })
  await send(kernel, ...Array.from({ length: 20 }, () => ({ type: 'scope_violation' })))
  t.match(await kernel.call(checkMood, {}), { mood: 'worried' })
  await kernel.call(shopBuy, { item: 'companion_meal' })
  t.match(await kernel.call(checkMood, {}), { mood: 'happy', health: 100, picture: /\^\.\^/ })
})

t.test('two purchases at once cannot spend the same crystals', async t => {
  const kernel = await openReward(t)
  const results = await Promise.allSettled(
    Array.from({ length: 5 }, () => kernel.call(shopBuy, { item: 'energy_refill' }))
  )
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 2)
  t.match(await kernel.call(progressSnapshot, {}), { crystals: 0 })
})

t.test('values of events are replaced and restored', async t => {
  const kernel = await openReward(t)
  await kernel.call(valuesSet, { type: 'bug_fix', xp: 10, crystals: 1, shield: true })
  await kernel.call(valuesSet, { type: 'exterminatus', xp: 7 })
  await send(kernel, ...Array.from({ length: 3 }, () => ({ type: 'bug_fix' })))
  const { events } = await kernel.call(eventsOperation, {})
  t.equal(events.find(({ type }) => type === 'bug_fix')?.base_xp, 10)
  t.equal(events.find(({ type }) => type === 'exterminatus')?.base_xp, 7)
  t.match(await kernel.call(progressSnapshot, {}), { streak_shields: 3 })
  const listed = async () => (await kernel.call(valuesOperation, {})).values.filter(({ overridden }) => overridden)
  t.equal((await listed()).length, 2)
  t.match(await kernel.call(valuesReset, { type: 'bug_fix' }), { values: { xp: 200, crystals: 40 } })
  t.equal((await listed()).length, 1)
  await t.rejects(kernel.call(valuesReset, { type: 'bug_fix' }), { code: 'RWD_EVENT_TYPE_UNKNOWN' })
})

t.test('at most 1,000 types have stored values', async t => {
  let database: PrimaryDatabase | undefined
  const kernel = await openReward(t, {}, [probe(each => (database = each))])
  await kernel.call(valuesSet, { type: 'mine', xp: 1 })
  await database?.execute(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
     INSERT INTO gamify_event_config SELECT 'type_' || i, 1, 0, 0, 0 FROM n`
  )
  await t.rejects(kernel.call(valuesSet, { type: 'another' }), { code: 'RWD_VALUES_FULL' })
  t.match(await kernel.call(valuesSet, { type: 'mine', xp: 2 }), { xp: 2 })
})

t.test('the stored configuration applies where the session has none', async t => {
  const kernel = await openReward(t)
  t.match(await kernel.call(configOperation, {}), { enabled: true, decided_by: 'default', mode: 'balanced' })
  t.match(await kernel.call(configSet, { mode: 'serious', trust_tier: 'master' }), {
    mode: 'serious',
    channel: 'serious'
  })
  await send(kernel, { type: 'task_completed' })
  t.match((await kernel.call(eventsOperation, {})).events[0], {
    mode_label: 'serious',
    explanation: '50 xp x mode 0.5 x streak 1.02 x novelty 1.5 x trust 1.5'
  })
  t.match(await kernel.call(configSet, { enabled: 'off' }), { enabled: false, stored_mode: 'serious' })
  t.match(await kernel.call(configSet, { enabled: 'default', mode: 'default' }), { enabled: true, mode: 'balanced' })
  const session = await openReward(t, { session_mode: 'learning' })
  t.match(await session.call(configSet, { mode: 'serious', enabled: 'off' }), {
    enabled: true,
    decided_by: 'session_mode',
    mode: 'learning',
    stored_mode: 'serious'
  })
})

t.test('the digest of a week has its work and rewards, and no others', async t => {
  const kernel = await openReward(t)
  await send(kernel, ...['bug_fix', 'bug_fix', 'task_completed'].map(type => ({ type })))
  const digest = await kernel.call(digestOperation, {})
  t.match(digest.work, [
    { type: 'bug_fix', count: 2 },
    { type: 'task_completed', count: 1 }
  ])
  t.equal(digest.xp, (await kernel.call(progressSnapshot, {})).xp)
  t.equal(digest.active_days, 1)
  t.match(digest.text, /2 {2}bug_fix/)
  t.match(await kernel.call(digestOperation, { week: '2020-W53' }), {
    from: '2020-12-28',
    to: '2021-01-03',
    xp: 0,
    work: [],
    text: /No events/
  })
  for (const week of ['2021-W53', '2021-W00', 'last', '2021'])
    await t.rejects(kernel.call(digestOperation, { week }), { code: 'RWD_WEEK_INVALID' }, week)
})

t.test('a mistake has a hint in the mode learning, and no second one within its cooldown', async t => {
  const kernel = await openReward(t, { session_mode: 'learning' })
  await send(kernel, { type: 'build_failed' }, { type: 'build_failed' })
  const { hints } = await kernel.call(hintsOperation, {})
  t.match(
    hints.find(({ kind }) => kind === 'build_failure'),
    { occurrences: 2, hints_shown: 1, last_hint: /svc check/ }
  )
  const serious = await openReward(t, { session_mode: 'serious' })
  await send(serious, { type: 'build_failed' })
  t.match(
    (await serious.call(hintsOperation, {})).hints.find(({ kind }) => kind === 'build_failure'),
    { occurrences: 1, hints_shown: 0 }
  )
})

t.test('a battle costs energy, is judged by the compiler, and is won once', async t => {
  const kernel = await openReward(t, {}, [compiler])
  const battle = await kernel.call(battleStart, {})
  t.equal(battle.energy, 90)
  t.match(await kernel.call(battleStart, {}), { battle_id: battle.battle_id, energy: 90 }, 'an open battle goes on')
  const submit = (code: string) => kernel.call(battleSubmit, { battle_id: battle.battle_id, code })
  t.match(await submit('fn main() {}'), { success: false, findings: /must still have/, attempts: 1 })
  t.match(await submit(battle.code), { success: false, findings: 'error: still wrong', attempts: 2, xp_earned: 0 })
  const { xp: before = 0 } = await kernel.call(progressSnapshot, {})
  t.match(await submit(`${battle.code}// fixed`), { success: true, xp_earned: 60, crystals_earned: 20, attempts: 3 })
  t.match(await kernel.call(progressSnapshot, {}), { xp: before + 60, crystals: 120 })
  await t.rejects(submit(`${battle.code}// fixed`), { code: 'RWD_BATTLE_UNKNOWN' })
  const next = await kernel.call(battleStart, {})
  t.not(next.bug_type, battle.bug_type)
  const alone = await openReward(t)
  const { battle_id, code } = await alone.call(battleStart, {})
  await t.rejects(alone.call(battleSubmit, { battle_id, code }), { code: 'RWD_BATTLE_NO_COMPILER' })
})

t.test('the command submits a file, and its exit code says whether the program is repaired', async t => {
  const kernel = await openReward(t, {}, [compiler])
  const { battle_id, code } = await kernel.call(battleStart, {})
  const folder = t.testdir({
    'fixed.vox': `${code}// fixed`,
    'same.vox': code,
    'empty.vox': '',
    'long.vox': 'x'.repeat(20_001),
    folder: {}
  })
  const run = submitHandler({ call: (operation: never, input: never) => kernel.call(operation, input) } as never)
  const submit = async (name: string, json = false) => {
    const file = relative(process.cwd(), join(folder, name))
    const stdout = new PassThrough()
    const exit = await run({ battle_id, file }, { stdout, json, signal: new AbortController().signal } as never)
    return { exit, text: String(stdout.read()) }
  }
  for (const file of ['none.vox', 'empty.vox', 'long.vox', 'folder'])
    await t.rejects(submit(file), { code: 'RWD_BATTLE_FILE', at: { file: new RegExp(`${file}$`) } })
  await t.rejects(submit('../../../../../../../../../../dev/zero'), { code: 'RWD_BATTLE_FILE', message: /not a file/ })
  t.same(await submit('same.vox'), { exit: 1, text: 'error: still wrong\n' })
  const { exit, text } = await submit('fixed.vox', true)
  t.equal(exit, 0)
  t.match(JSON.parse(text), { success: true, attempts: 2 })
})

t.test('a user joins one collegium', async t => {
  const kernel = await openReward(t)
  t.match(await kernel.call(collegiumJoin, { name: 'Night owls' }), { members: 1, created: true })
  await t.rejects(kernel.call(collegiumJoin, { name: 'Others' }), { code: 'RWD_COLLEGIUM_JOINED' })
  t.match(await kernel.call(progressSnapshot, {}), { collegium: 'Night owls' })
  t.equal((await kernel.call(eventsOperation, { type: 'collegium_created' })).events.length, 1)
})

t.test('a prestige needs level 200, and raises later rewards', async t => {
  let database: PrimaryDatabase | undefined
  const kernel = await openReward(t, {}, [probe(each => (database = each))])
  await send(kernel, { type: 'bug_fix' })
  await t.rejects(kernel.call(prestigeOperation, {}), { code: 'RWD_PRESTIGE_LEVEL' })
  await database?.execute('UPDATE gamify_profiles SET xp = ?, level = 200', [xpForLevel(200)])
  t.match(await kernel.call(prestigeOperation, {}), { prestige: 1, xp: Math.floor(xpForLevel(200) / 10) })
  await send(kernel, { type: 'doc_added' })
  t.match((await kernel.call(eventsOperation, {})).events[0], { explanation: /prestige 1\.05/ })
})

t.test('forget deletes the progress of the user, and of no other one', async t => {
  let database: PrimaryDatabase | undefined
  const kernel = await openReward(t, {}, [probe(each => (database = each))])
  await send(kernel, ...['bug_fix', 'build_failed', 'ai_thumbs_up'].map(type => ({ type })))
  await kernel.call(configSet, { mode: 'learning' })
  await database?.execute("INSERT INTO gamify_counters (user_id, name, value) VALUES ('bob', 'bug_fix', 3)")
  const event = `{"type":"bug_fix"}`
  for (const [agent, type, payload] of [
    ['bob', 'bug_fix', event],
    ['assistant', 'llm_turn', '{"model":"toy"}']
  ])
    await database?.execute(
      "INSERT INTO agent_events (agent_id, event_type, payload_json, timestamp) VALUES (?, ?, ?, '2026-01-01 00:00:00')",
      [agent ?? '', type ?? '', payload ?? '']
    )
  await send(kernel, { type: 'task_completed', agent_id: 'builder' } as { type: string })
  t.ok((await kernel.call(forgetOperation, {})).rows > 10)
  t.match(await kernel.call(progressSnapshot, {}), { xp: 0, crystals: 100, streak_days: 0, mode: 'learning' })
  t.same((await kernel.call(eventsOperation, {})).events, [])
  t.same((await database?.query('SELECT user_id, value FROM gamify_counters'))?.rows, [['bob', 3]])
  t.same((await database?.query('SELECT agent_id FROM agent_events ORDER BY id'))?.rows, [['bob'], ['assistant']])
  t.same((await database?.query('SELECT user_id FROM gamify_policy_snapshots'))?.rows, [])
  t.match(await kernel.call(forgetOperation, {}), { rows: 0 })
})
