import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { channelOf, decideGate, NO_STORED_CONFIG, switchedOffBy, userIdOf } from '../gate.ts'
import { ACHIEVEMENTS } from '../rules/achievements.ts'
import { energyAt, maxEnergy, xpForLevel } from '../rules/levels.ts'
import { MODES, TRUST_TIERS } from '../rules/modes.ts'
import { streakFactor } from '../rules/reward.ts'
import { loadConfig, loadProfile, rowsOf } from '../store/load-state.ts'
import { newUserState } from '../store/user-state.ts'
import { howToSwitchOn } from '../switches.ts'
import { gamifyTool } from './expose.ts'

const { RWD_OFF } = rewardErrors.specs

export const progressSnapshot = defineOperation({
  id: 'reward.progress_snapshot',
  summary: 'Show level, streak, energy and totals of the user',
  input: t.object({}),
  output: t.object({
    enabled: t.boolean(),
    decided_by: t.string({ description: 'What decided whether rewards are on.' }),
    note: t.string({ description: 'Next step.' }),
    user_id: t.string(),
    mode: t.enum(MODES),
    channel: t.string(),
    level: t.optional(t.integer()),
    xp: t.optional(t.integer()),
    xp_to_next_level: t.optional(t.integer()),
    crystals: t.optional(t.integer()),
    lumens: t.optional(t.integer()),
    energy: t.optional(t.integer()),
    max_energy: t.optional(t.integer()),
    streak_days: t.optional(t.integer()),
    streak_factor: t.optional(t.number()),
    streak_shields: t.optional(t.integer()),
    prestige: t.optional(t.integer()),
    trust_tier: t.optional(t.enum(TRUST_TIERS)),
    collegium: t.optional(t.string()),
    unread_notifications: t.optional(t.integer()),
    last_message: t.optional(t.string({ description: 'Newest unread notification.' })),
    events: t.optional(
      t.object({
        processed: t.integer({ description: 'Events since this process started.' }),
        duplicates: t.integer(),
        invalid: t.integer(),
        lost: t.integer({ description: 'Events that a full queue or a failed database lost.' })
      })
    )
  }),
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/progress' },
    mcp: gamifyTool('progress_snapshot', 'Level, streak and totals of the user. Quests: svc_gamify_quest_list.'),
    rpc: true,
    cli: {
      command: 'reward status',
      view: {
        fields: [
          'enabled',
          'decided_by',
          'mode',
          'channel',
          'user_id',
          'level',
          'xp',
          'xp_to_next_level',
          'crystals',
          'lumens',
          'energy',
          'max_energy',
          'streak_days',
          'streak_shields',
          'prestige',
          'trust_tier',
          'collegium',
          'unread_notifications',
          'last_message',
          'events.processed',
          'events.duplicates',
          'events.invalid',
          'events.lost',
          'note'
        ]
      }
    }
  }
})

export function progressHandler(dependencies: Dependencies): Handler<typeof progressSnapshot> {
  return async () => {
    const settings = dependencies.settings()
    const user = userIdOf(settings)
    const off = switchedOffBy(settings)
    if (off !== null) {
      const { mode } = decideGate(settings, NO_STORED_CONFIG)
      return {
        enabled: false,
        decided_by: off,
        note: `To switch rewards on: ${howToSwitchOn(off)}.`,
        user_id: user,
        mode,
        channel: 'off'
      }
    }
    const { engine, store, now } = dependencies
    await engine.flush()
    const tx = await store.reader()
    const stored = await loadConfig(tx, user)
    const { on, mode, reason } = decideGate(settings, stored)
    dependencies.switched(on)
    await engine.noteSwitch(stored.enabled)
    const profile = (await loadProfile(tx, user)) ?? newUserState(user, now()).profile
    const max = maxEnergy(profile.level)
    const { processed, duplicates, invalid, lost } = engine.figures
    const [unread] = await rowsOf(
      tx,
      `SELECT count(*) AS unread, (SELECT message FROM gamify_notifications WHERE user_id = ?1 AND acknowledged_at IS NULL
         ORDER BY id DESC LIMIT 1) AS last FROM gamify_notifications WHERE user_id = ?1 AND acknowledged_at IS NULL`,
      [user]
    )
    return {
      enabled: on,
      decided_by: reason,
      note: on ? 'Switch it off: svc reward off.' : `To switch rewards on: ${howToSwitchOn(reason)}.`,
      user_id: user,
      mode,
      channel: channelOf(settings, mode),
      level: profile.level,
      xp: profile.xp,
      xp_to_next_level: Math.max(0, xpForLevel(profile.level + 1) - profile.xp),
      crystals: profile.crystals,
      lumens: profile.lumens,
      energy: energyAt({ energy: profile.energy, at: profile.energyAt }, max, now()).energy,
      max_energy: max,
      streak_days: profile.streakDays,
      streak_factor: streakFactor(profile.streakDays),
      streak_shields: profile.streakShields,
      prestige: profile.prestige,
      trust_tier: stored.trustTier ?? 'linked',
      unread_notifications: Number(unread?.unread ?? 0),
      events: { processed, duplicates, invalid, lost },
      ...defined({
        collegium: profile.collegium ?? undefined,
        last_message: typeof unread?.last === 'string' ? unread.last : undefined
      })
    }
  }
}

export const achievementsOperation = defineOperation({
  id: 'reward.achievements',
  summary: 'List achievements, reached ones first',
  input: t.object({}),
  output: t.object({
    achievements: t.array(
      t.object({
        name: t.string(),
        title: t.string(),
        description: t.string(),
        reached_at: t.optional(t.string({ format: 'date-time' }))
      })
    )
  }),
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/achievements' },
    rpc: true,
    cli: {
      command: 'reward achievements',
      view: { rows: 'achievements', columns: ['title', 'description', 'reached_at'] }
    }
  }
})

export function achievementsHandler(dependencies: Dependencies): Handler<typeof achievementsOperation> {
  return async () => {
    const { tx, user } = await settledReader(dependencies)
    const rows = await rowsOf(tx, 'SELECT name, reached_at FROM gamify_achievements WHERE user_id = ?', [user])
    const reached = new Map(rows.map(({ name, reached_at }) => [String(name), Number(reached_at)]))
    const listed = [...ACHIEVEMENTS.values()].map(achievement => {
      const at = reached.get(achievement.name)
      return { ...achievement, ...defined({ reached_at: at === undefined ? undefined : new Date(at).toISOString() }) }
    })
    const isOpen = ({ reached_at }: { reached_at?: string }): number => (reached_at === undefined ? 1 : 0)
    return { achievements: listed.sort((a, b) => isOpen(a) - isOpen(b)) }
  }
}
