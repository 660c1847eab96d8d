import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { ACHIEVEMENTS } from '../rules/achievements.ts'
import { isoWeekOf, type Week, weekOf } from '../rules/iso-week.ts'
import { loadProfile, type Reader, rowsOf } from '../store/load-state.ts'

const { RWD_OFF, RWD_WEEK_INVALID } = rewardErrors.specs

const MAX_TYPES = 20

export const digestOperation = defineOperation({
  id: 'reward.digest',
  summary: 'Summarise a week: work, rewards, streak, quests and achievements',
  input: t.object({
    week: t.optional(
      t.string({ maxLength: 20, description: 'ISO week such as 2026-W48, in UTC. Default: the current week.' })
    )
  }),
  output: t.object({
    week: t.string(),
    from: t.string({ description: 'First day, Monday.' }),
    to: t.string({ description: 'Last day, Sunday.' }),
    xp: t.integer(),
    crystals: t.integer(),
    lumens: t.integer(),
    active_days: t.integer(),
    streak_days: t.integer({ description: 'Length of the streak now.' }),
    quests_completed: t.integer(),
    levels: t.array(t.integer(), { description: 'Levels that were reached.' }),
    achievements: t.array(t.string()),
    work: t.array(t.object({ type: t.string(), count: t.integer(), xp: t.integer() }), {
      description: 'Types of events, most frequent first.'
    }),
    text: t.string({ description: 'The digest as text.' })
  }),
  errors: { RWD_OFF, RWD_WEEK_INVALID },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 5_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/digest' },
    rpc: true,
    cli: { command: 'reward digest', args: ['week'], view: { text: 'text' } }
  }
})

export function digestHandler(dependencies: Dependencies): Handler<typeof digestOperation> {
  return async ({ week }) => {
    const chosen = week === undefined ? isoWeekOf(dependencies.now()) : weekOf(week)
    if (chosen === null)
      throw rewardErrors.create('RWD_WEEK_INVALID', `week ${week}: it is not an ISO week`, {
        data: { week },
        hint: 'write the year and the number of the week, such as 2026-W48'
      })
    const { tx, user } = await settledReader(dependencies)
    const facts = await factsOf(tx, user, chosen)
    return { ...facts, text: textOf(facts) }
  }
}

async function factsOf(tx: Reader, user: string, { name, from, days, start, end }: Week) {
  const dayList = JSON.stringify(days)
  const [sums] = await rowsOf(
    tx,
    `SELECT coalesce(sum(awarded_xp), 0) AS xp, coalesce(sum(awarded_crystals), 0) AS crystals,
       coalesce(sum(awarded_lumens), 0) AS lumens FROM gamify_policy_snapshots
     WHERE user_id = ? AND created_at >= ? AND created_at < ?`,
    [user, sqlTime(start), sqlTime(end)]
  )
  const work = await rowsOf(
    tx,
    `SELECT name AS type, sum(value) AS count, (SELECT coalesce(sum(awarded_xp), 0) FROM gamify_policy_snapshots AS s
       WHERE s.user_id = ?1 AND s.event_type = name AND s.created_at >= ?2 AND s.created_at < ?3) AS xp
     FROM gamify_daily_counters WHERE user_id = ?1 AND day IN (SELECT value FROM json_each(?4)) AND name NOT LIKE '(%'
     GROUP BY name ORDER BY count DESC, name LIMIT ${MAX_TYPES}`,
    [user, sqlTime(start), sqlTime(end), dayList]
  )
  const [active] = await rowsOf(
    tx,
    `SELECT count(DISTINCT day) AS days FROM gamify_daily_counters
     WHERE user_id = ? AND day IN (SELECT value FROM json_each(?))`,
    [user, dayList]
  )
  const [quests] = await rowsOf(
    tx,
    `SELECT count(*) AS count FROM gamify_quests
     WHERE user_id = ? AND completed = 1 AND day IN (SELECT value FROM json_each(?))`,
    [user, dayList]
  )
  const achievements = await rowsOf(
    tx,
    'SELECT name FROM gamify_achievements WHERE user_id = ? AND reached_at >= ? AND reached_at < ? ORDER BY reached_at',
    [user, start, end]
  )
  const levels = await rowsOf(
    tx,
    'SELECT level FROM gamify_level_history WHERE user_id = ? AND reached_at >= ? AND reached_at < ? ORDER BY id LIMIT 50',
    [user, start, end]
  )
  const profile = await loadProfile(tx, user)
  return {
    week: name,
    from,
    to: days.at(-1) ?? from,
    xp: Number(sums?.xp ?? 0),
    crystals: Number(sums?.crystals ?? 0),
    lumens: Number(sums?.lumens ?? 0),
    active_days: Number(active?.days ?? 0),
    streak_days: profile?.streakDays ?? 0,
    quests_completed: Number(quests?.count ?? 0),
    levels: levels.map(({ level }) => Number(level)),
    achievements: achievements.map(row => ACHIEVEMENTS.get(String(row.name))?.title ?? String(row.name)),
    work: work.map(row => ({ type: String(row.type), count: Number(row.count), xp: Number(row.xp) }))
  }
}

function textOf(facts: Awaited<ReturnType<typeof factsOf>>): string {
  const { week, from, to, work, levels, achievements } = facts
  const lines = [
    `Week ${week} (${from} to ${to})`,
    '',
    `${facts.xp} xp, ${facts.crystals} crystals, ${facts.lumens} lumens on ${facts.active_days} active ${facts.active_days === 1 ? 'day' : 'days'}`,
    `Streak: ${facts.streak_days} ${facts.streak_days === 1 ? 'day' : 'days'}. Quests completed: ${facts.quests_completed}`
  ]
  if (levels.length > 0) lines.push(`Levels: ${levels.join(', ')}`)
  if (achievements.length > 0) lines.push(`Achievements: ${achievements.join(', ')}`)
  lines.push('', ...(work.length === 0 ? ['No events in this week.'] : work.map(lineOf)))
  return `${lines.join('\n')}\n`
}

function lineOf({ type, count, xp }: { readonly type: string; readonly count: number; readonly xp: number }): string {
  return `${String(count).padStart(6)}  ${type} (${xp} xp)`
}

/** Returns a time as the database writes it. */
function sqlTime(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}
