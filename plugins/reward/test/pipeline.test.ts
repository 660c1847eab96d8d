import { databaseStore, type PrimaryDatabase, rewardEvents } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import {
  achievementsOperation,
  eventsOperation,
  notificationsList,
  progressSnapshot,
  questList,
  switchOff,
  switchOn
} from '#root'
import { openReward, send } from './world.ts'

/** Plugin that passes the database to the test. */
function probe(take: (database: PrimaryDatabase) => void): Plugin {
  return definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, { database }) => take(database)
  }) as Plugin
}

/** Opens the plugin, with access to its database. */
async function openWithDatabase(t: Parameters<typeof openReward>[0], settings: object = {}) {
  let database: PrimaryDatabase | undefined
  const kernel = await openReward(t, settings, [probe(each => (database = each))])
  const rows = async (sql: string): Promise<readonly (readonly unknown[])[]> => (await database?.query(sql))?.rows ?? []
  return { kernel, rows, database: () => database as PrimaryDatabase }
}

t.test('an event is rewarded once, with the explanation of its reward', async t => {
  const { kernel, rows } = await openWithDatabase(t)
  const event = { type: 'task_completed', agent_id: 7, ludus_dedupe_id: 'a' }
  await send(kernel, event, event)
  const { events } = await kernel.call(eventsOperation, {})
  t.match(events, [
    {
      type: 'task_completed',
      xp: 77,
      crystals: 8,
      base_xp: 50,
      multiplier: 1.53,
      explanation: '50 xp x streak 1.02 x novelty 1.5',
      mode_label: 'balanced'
    },
    { type: 'daily_streak', source: 'streak', xp: 10, explanation: '10 xp, a fixed reward' }
  ])
  t.equal(events.length, 2)
  t.match(await kernel.call(progressSnapshot, {}), {
    enabled: true,
    decided_by: 'default',
    user_id: 'ada',
    xp: 87,
    crystals: 108,
    streak_days: 1,
    events: { processed: 1, duplicates: 1, invalid: 0, lost: 0 }
  })
  t.same(await rows('SELECT agent_id, event_type, payload_json FROM agent_events'), [
    ['7', 'task_completed', JSON.stringify(event)]
  ])
  t.same(await rows('SELECT awarded_xp, effective_multiplier, grind_capped, base_xp FROM gamify_policy_snapshots'), [
    [10, 1, 0, 10],
    [77, 1.53, 0, 50]
  ])
})

t.test('an id counts once for each user, also after the process started again', async t => {
  const first = await openReward(t)
  const event = { type: 'bug_fix', ludus_dedupe_id: 'x' }
  await send(first, event)
  t.match(await first.call(progressSnapshot, {}), { events: { processed: 1 } })
  await first.replace((await import('#plugin')).default as Plugin)
  await send(first, event, { type: 'bug_fix' })
  t.match(await first.call(progressSnapshot, {}), { events: { processed: 1, duplicates: 1 } })
  const { events } = await first.call(eventsOperation, { type: 'bug_fix' })
  t.same(
    events.map(({ explanation }) => explanation),
    ['200 xp x streak 1.02', '200 xp x streak 1.02 x novelty 1.5'],
    'the second event is not new in this process, although the plugin was reloaded'
  )
})

t.test('an invalid or oversized event is counted, and later events are processed', async t => {
  const kernel = await openReward(t)
  await send(kernel, { type: '' }, {} as never, { type: 'x'.repeat(201) }, {
    type: 'bug_fix',
    text: 'é'.repeat(200_000)
  } as never)
  await kernel.trigger(rewardEvents, [] as never)
  await kernel.trigger(rewardEvents, null as never)
  await send(kernel, { type: 'bug_fix', text: 'x'.repeat(262_000) } as never)
  t.match(await kernel.call(progressSnapshot, {}), { events: { processed: 1, invalid: 6 } })
  t.equal(kernel.log.filter(({ level }) => level === 'warn').length, 1, 'only the first one is logged')
})

for (const [name, settings] of Object.entries({
  'the emergency switch': { emergency_off: true },
  'the session switch': { session_enabled: false },
  'the mode off': { session_mode: 'off' }
}))
  t.test(`${name} leaves no tap, no table and no row`, async t => {
    const { kernel, rows } = await openWithDatabase(t, settings)
    t.equal(kernel.effects('reward') && JSON.stringify(kernel.effects('reward')).includes('reward.event'), false)
    await send(kernel, { type: 'bug_fix' })
    t.match(await kernel.call(progressSnapshot, {}), { enabled: false, decided_by: Object.keys(settings)[0] })
    await t.rejects(kernel.call(eventsOperation, {}), { code: 'RWD_OFF' })
    await t.rejects(kernel.call(switchOn, {}), { code: 'RWD_OFF' })
    t.same(
      await rows("SELECT name FROM sqlite_master WHERE name LIKE 'gamify%' AND name NOT LIKE 'gamify_policy%'"),
      []
    )
    t.same(await rows('SELECT * FROM agent_events'), [])
  })

t.test('svc reward off drops events until svc reward on', async t => {
  const { kernel, rows } = await openWithDatabase(t)
  t.match(await kernel.call(switchOff, {}), { enabled: false, decided_by: 'stored', stored_enabled: 'off' })
  await send(kernel, { type: 'bug_fix' })
  t.match(await kernel.call(progressSnapshot, {}), { enabled: false, events: { processed: 0 } })
  t.same(await rows('SELECT * FROM agent_events'), [])
  t.match(await kernel.call(switchOn, {}), { enabled: true })
  await send(kernel, { type: 'bug_fix' })
  t.match(await kernel.call(progressSnapshot, {}), { enabled: true, events: { processed: 1 } })
})

t.test('a failed build, then clean ones, earn the specials; a doubt earns achievements', async t => {
  const kernel = await openReward(t)
  await send(kernel, ...['build_failed', 'build_clean', 'build_clean', 'build_clean'].map(type => ({ type })), {
    type: 'task_resolved',
    validated: false,
    report: 'The answer was OBSEQUIOUS.'
  } as never)
  const { events } = await kernel.call(eventsOperation, {})
  t.same(
    events.filter(({ source }) => source === 'special').map(({ type }) => type),
    ['build_clean_streak_3', 'phoenix_bonus']
  )
  t.match(await kernel.call(progressSnapshot, {}), { streak_shields: 1 })
  const { achievements } = await kernel.call(achievementsOperation, {})
  const reached = achievements.filter(({ reached_at }) => reached_at !== undefined).map(({ name }) => name)
  t.ok(reached.includes('healthy_skepticism') && reached.includes('internal_affairs'))
  t.notOk(reached.includes('blind_faith'))
})

t.test('the mode serious announces only levels and achievements; quiet announces nothing', async t => {
  const work = [...Array(30)].map(() => ({ type: 'bug_fix' }))
  const serious = await openReward(t, { session_mode: 'serious', verbosity: 'rich' })
  await send(serious, ...work, { type: 'build_failed' })
  const kinds = (await serious.call(notificationsList, {})).notifications.map(({ kind }) => kind)
  t.ok(kinds.includes('level'))
  t.same(
    kinds.filter(kind => kind !== 'level' && kind !== 'achievement'),
    []
  )
  for (const settings of [
    { verbosity: 'quiet' },
    { channel: 'off' },
    { channel: 'digest' },
    { max_messages_per_hour: 0 }
  ]) {
    const kernel = await openReward(t, settings)
    await send(kernel, ...work)
    t.same((await kernel.call(notificationsList, {})).notifications, [], JSON.stringify(settings))
  }
})

t.test('at most 12 messages are added in an hour', async t => {
  const kernel = await openReward(t, { verbosity: 'rich' })
  await send(
    kernel,
    ...[...Array(40)].map(() => ({ type: 'bug_fix' })),
    ...[...Array(10)].map(() => ({ type: 'doc_added' }))
  )
  t.equal((await kernel.call(notificationsList, {})).notifications.length, 12)
})

t.test('arguments of tools are stored, hashed or omitted as the setting says', async t => {
  const event = { type: 'mcp_tool_called', tool: 'x', arguments: { path: 'SECRET-VALUE' } }
  for (const [mode, stored] of Object.entries({
    full: { path: 'SECRET-VALUE' },
    // XXH3-64 of {"path":"SECRET-VALUE"}, computed with the package xxhash of Python.
    hash: 'xxh3:566c251d5bfeee0b',
    omit: null
  })) {
    const { kernel, rows } = await openWithDatabase(t, { mcp_tool_args: mode })
    await send(kernel, event as never)
    t.match(await kernel.call(progressSnapshot, {}), { events: { processed: 1 } })
    const [[json]] = (await rows('SELECT payload_json FROM agent_events')) as [[string]]
    t.same(JSON.parse(json), { ...event, arguments: stored }, mode)
  }
})

t.test('one in N pairs of user and type is logged', async t => {
  const all = await openReward(t, { route_log_sample: 1 })
  await send(all, { type: 'bug_fix' }, { type: 'doc_added' })
  await all.call(progressSnapshot, {})
  t.same(
    all.log.filter(({ message }) => message === 'reward event').map(({ fields }) => fields.type),
    ['bug_fix', 'doc_added']
  )
  const none = await openReward(t)
  await send(none, { type: 'bug_fix' })
  await none.call(progressSnapshot, {})
  t.same(
    none.log.filter(({ message }) => message === 'reward event'),
    []
  )
})

t.test('an experiment scales rewards and is part of the label; an invalid factor is ignored', async t => {
  const scaled = await openReward(t, { experiment: 'autumn', experiment_reward_mult: '2' })
  await send(scaled, { type: 'task_completed' })
  t.match((await scaled.call(eventsOperation, {})).events[0], { mode_label: 'balanced:autumn', xp: 153 })
  for (const factor of ['-1', '0', 'Infinity', 'two', '']) {
    const kernel = await openReward(t, { experiment_reward_mult: factor })
    await send(kernel, { type: 'task_completed' })
    t.match((await kernel.call(eventsOperation, {})).events[0], { xp: 77 }, factor)
  }
})

t.test('events of a day complete its quests', async t => {
  const kernel = await openReward(t)
  const { quests } = await kernel.call(questList, {})
  t.equal(quests.length, 3)
  const types = [
    'task_completed',
    'task_resolved',
    'build_clean',
    'check_completed',
    'test_pass',
    'bug_fix',
    'doc_added'
  ]
  const more = ['fmt_applied', 'diagnostics_clean', 'toestub_scan_clean', 'code_reviewed', 'snapshot_captured']
  for (const type of [...types, ...more, 'workflow_completed'])
    await send(kernel, ...[...Array(10)].map(() => ({ type })))
  const after = await kernel.call(questList, {})
  t.same(
    after.quests.map(({ completed, quest_type }) => [quest_type, completed]),
    quests.map(({ quest_type }) => [quest_type, true])
  )
  const { events } = await kernel.call(eventsOperation, { limit: 500 })
  t.same(
    events
      .filter(({ source }) => source === 'quest')
      .map(({ xp }) => xp)
      .sort(),
    quests.map(({ xp_reward }) => xp_reward).sort()
  )
})
