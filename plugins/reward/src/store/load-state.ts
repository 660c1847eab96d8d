import { type DatabaseTransaction, rowsByName, type SqlValue } from '@svc/contracts'
import type { StoredConfig } from '../gate.ts'
import type { BaseValues } from '../rules/base-values.ts'
import { COMBO_TYPES, KEPT_PER_TYPE, MAX_WINDOW_MS } from '../rules/combos.ts'
import { MOODS, type Mood } from '../rules/companions.ts'
import { MODES, type Mode, TRUST_TIERS, type TrustTier } from '../rules/modes.ts'
import { newUserState, type Profile, type Quest, type UserState } from './user-state.ts'

/** Types of events that may have stored values. */
export const MAX_OVERRIDES = 1_000

export type Reader = Pick<DatabaseTransaction, 'query'>
export type Row = Readonly<Record<string, SqlValue>>

/** Events for which the state is loaded. */
export interface Wanted {
  readonly user: string
  /** Days in UTC whose counters and quests are needed. */
  readonly days: readonly string[]
  readonly keys: readonly string[]
  readonly now: number
}

/** Loads the state of a user; a new one if the user has no profile. */
export async function loadState(tx: Reader, { user, days, keys, now }: Wanted): Promise<UserState> {
  const state = newUserState(user, now)
  state.config = await loadConfig(tx, user)
  const profile = await loadProfile(tx, user)
  if (profile !== null) state.profile = profile
  const dayList = JSON.stringify([...new Set([...days, state.profile.lastActiveDay])].filter(day => day !== ''))
  const [companion] = await rowsOf(tx, 'SELECT mood, health, energy FROM gamify_companions WHERE id = ?', [
    companionId(user)
  ])
  if (companion !== undefined)
    state.companion = {
      mood: moodOf(companion.mood),
      health: Number(companion.health),
      energy: Number(companion.energy)
    }
  for (const quest of await loadQuests(tx, user, dayList)) {
    const ofDay = state.quests.get(quest.day) ?? []
    ofDay.push(quest)
    state.quests.set(quest.day, ofDay)
  }
  const counters = `SELECT day, name, value FROM gamify_daily_counters
    WHERE user_id = ? AND day IN (SELECT value FROM json_each(?))`
  for (const { day, name, value } of await rowsOf(tx, counters, [user, dayList])) {
    const ofDay = state.daily.get(String(day)) ?? new Map<string, number>()
    ofDay.set(String(name), Number(value))
    state.daily.set(String(day), ofDay)
  }
  for (const { name, value } of await rowsOf(tx, 'SELECT name, value FROM gamify_counters WHERE user_id = ?', [user]))
    state.counters.set(String(name), Number(value))
  await loadCombos(tx, state, now)
  const achievements = 'SELECT name, reached_at FROM gamify_achievements WHERE user_id = ?'
  for (const { name, reached_at } of await rowsOf(tx, achievements, [user]))
    state.achievements.set(String(name), Number(reached_at))
  for (const row of await rowsOf(tx, 'SELECT * FROM gamify_teaching_profiles WHERE user_id = ?', [user]))
    state.teaching.set(String(row.mistake_kind), {
      occurrences: Number(row.occurrences),
      hintsShown: Number(row.hints_shown),
      lastSeen: Number(row.last_seen),
      lastHintAt: row.last_hint_at === null || row.last_hint_at === undefined ? null : Number(row.last_hint_at)
    })
  const overrides = await loadOverrides(tx)
  if (keys.length === 0) return { ...state, overrides }
  const seen = await rowsOf(
    tx,
    'SELECT dedupe_key FROM gamify_processed_events WHERE user_id = ? AND dedupe_key IN (SELECT value FROM json_each(?))',
    [user, JSON.stringify(keys)]
  )
  return { ...state, overrides, seen: new Set(seen.map(row => String(row.dedupe_key))) }
}

export async function loadConfig(tx: Reader, user: string): Promise<StoredConfig> {
  const [row] = await rowsOf(tx, 'SELECT enabled, mode, trust_tier FROM gamify_config WHERE user_id = ?', [user])
  const enabled = row?.enabled ?? null
  return {
    enabled: enabled === null ? null : Number(enabled) === 1,
    mode: MODES.find(mode => mode === row?.mode) ?? (null as Mode | null),
    trustTier: TRUST_TIERS.find(tier => tier === row?.trust_tier) ?? (null as TrustTier | null)
  }
}

export async function loadProfile(tx: Reader, user: string): Promise<Profile | null> {
  const [row] = await rowsOf(tx, 'SELECT * FROM gamify_profiles WHERE user_id = ?', [user])
  if (row === undefined) return null
  return {
    level: Number(row.level),
    xp: Number(row.xp),
    crystals: Number(row.crystals),
    lumens: Number(row.lumens),
    energy: Number(row.energy),
    energyAt: Number(row.last_energy_regen),
    streakDays: Number(row.streak_days),
    streakShields: Number(row.streak_shields),
    lastActiveDay: String(row.last_active_day),
    lastActive: Number(row.last_active),
    prestige: Number(row.prestige),
    collegium: row.collegium === null || row.collegium === undefined ? null : String(row.collegium),
    sequence: Number(row.event_sequence),
    messageWindowStart: Number(row.message_window_start),
    messageCount: Number(row.message_count)
  }
}

/** `days`: JSON array. */
export async function loadQuests(tx: Reader, user: string, days: string): Promise<readonly Quest[]> {
  const sql = `SELECT * FROM gamify_quests
    WHERE user_id = ? AND day IN (SELECT value FROM json_each(?)) ORDER BY day, id`
  const rows = await rowsOf(tx, sql, [user, days])
  return rows.map(row => ({
    id: String(row.id),
    day: String(row.day),
    questType: String(row.quest_type),
    modifier: String(row.modifier),
    description: String(row.description),
    target: Number(row.target),
    progress: Number(row.progress),
    xpReward: Number(row.xp_reward),
    crystalReward: Number(row.crystal_reward),
    completed: Number(row.completed) === 1,
    expiresAt: Number(row.expires_at)
  }))
}

export async function loadOverrides(tx: Reader): Promise<ReadonlyMap<string, BaseValues>> {
  const rows = await rowsOf(
    tx,
    `SELECT event_type, xp, crystals, lumens, shield FROM gamify_event_config LIMIT ${MAX_OVERRIDES}`,
    []
  )
  return new Map(
    rows.map(row => [
      String(row.event_type),
      {
        xp: Number(row.xp),
        crystals: Number(row.crystals),
        lumens: Number(row.lumens),
        shield: Number(row.shield) === 1
      }
    ])
  )
}

async function loadCombos(tx: Reader, { user, recent, combos }: UserState, now: number): Promise<void> {
  // Only the newest events of each type can complete a combo.
  for (const type of COMBO_TYPES) {
    const rows = await rowsOf(
      tx,
      `SELECT sequence, at FROM gamify_processed_events WHERE user_id = ? AND event_type = ? AND at >= ?
       ORDER BY at DESC, sequence DESC LIMIT ${KEPT_PER_TYPE}`,
      [user, type, now - MAX_WINDOW_MS]
    )
    if (rows.length === 0) continue
    const past = rows.map(({ sequence, at }) => ({ sequence: Number(sequence), at: Number(at) }))
    recent.set(
      type,
      past.sort((a, b) => a.sequence - b.sequence)
    )
  }
  for (const { name, used_until } of await rowsOf(tx, 'SELECT name, used_until FROM gamify_combos WHERE user_id = ?', [
    user
  ]))
    combos.set(String(name), Number(used_until))
}

/** Returns the id of the companion of a user. */
export function companionId(user: string): string {
  return `${user}:companion`
}

export function moodOf(value: SqlValue | undefined): Mood {
  return MOODS.find(mood => mood === value) ?? 'neutral'
}

export async function rowsOf(tx: Reader, sql: string, parameters: readonly (string | number | null)[]): Promise<Row[]> {
  return rowsByName(await tx.query(sql, parameters))
}
