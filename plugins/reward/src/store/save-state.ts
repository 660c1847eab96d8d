import type { DatabaseTransaction } from '@svc/contracts'
import { spriteOf } from '../rules/companions.ts'
import { maxEnergy } from '../rules/levels.ts'
import { companionId } from './load-state.ts'
import type { NewRows, Profile, UserState } from './user-state.ts'

export type Writer = Pick<DatabaseTransaction, 'execute'>

export const COMPANION_NAME = 'Svea'

/** Writes the state of a user, and the rows of the events that led to it. A statement inserts all rows of a table. */
export async function saveState(tx: Writer, state: UserState, rows: NewRows): Promise<void> {
  const { user } = state
  await saveProfile(tx, user, state.profile)
  await saveCompanion(tx, state)
  await insert(
    tx,
    `INSERT INTO gamify_quests (id, user_id, day, quest_type, modifier, description, target, progress, crystal_reward,
       xp_reward, completed, expires_at)
     SELECT j.value ->> 'id', ?1, j.value ->> 'day', j.value ->> 'questType', j.value ->> 'modifier',
       j.value ->> 'description', j.value ->> 'target', j.value ->> 'progress', j.value ->> 'crystalReward',
       j.value ->> 'xpReward', j.value ->> 'completed', j.value ->> 'expiresAt'
     FROM json_each(?2) AS j WHERE true
     ON CONFLICT (id) DO UPDATE SET progress = excluded.progress, completed = excluded.completed`,
    user,
    [...state.quests.values()].flat()
  )
  await insert(
    tx,
    `INSERT INTO gamify_daily_counters (user_id, day, name, value)
     SELECT ?1, j.value ->> 'day', j.value ->> 'name', j.value ->> 'value' FROM json_each(?2) AS j WHERE true
     ON CONFLICT (user_id, day, name) DO UPDATE SET value = excluded.value`,
    user,
    [...state.daily].flatMap(([day, counters]) => [...counters].map(([name, value]) => ({ day, name, value })))
  )
  await insert(
    tx,
    `INSERT INTO gamify_counters (user_id, name, value)
     SELECT ?1, j.value ->> 'name', j.value ->> 'value' FROM json_each(?2) AS j WHERE true
     ON CONFLICT (user_id, name) DO UPDATE SET value = excluded.value`,
    user,
    [...state.counters].map(([name, value]) => ({ name, value }))
  )
  await insert(
    tx,
    `INSERT INTO gamify_combos (user_id, name, used_until)
     SELECT ?1, j.value ->> 'name', j.value ->> 'until' FROM json_each(?2) AS j WHERE true
     ON CONFLICT (user_id, name) DO UPDATE SET used_until = excluded.used_until`,
    user,
    [...state.combos].map(([name, until]) => ({ name, until }))
  )
  await insert(
    tx,
    `INSERT INTO gamify_achievements (user_id, name, reached_at)
     SELECT ?1, j.value ->> 'name', j.value ->> 'at' FROM json_each(?2) AS j WHERE true ON CONFLICT DO NOTHING`,
    user,
    [...state.achievements].map(([name, at]) => ({ name, at }))
  )
  await insert(
    tx,
    `INSERT INTO gamify_teaching_profiles (user_id, mistake_kind, occurrences, hints_shown, last_seen, last_hint_at)
     SELECT ?1, j.value ->> 'kind', j.value ->> 'occurrences', j.value ->> 'hintsShown', j.value ->> 'lastSeen',
       j.value ->> 'lastHintAt'
     FROM json_each(?2) AS j WHERE true
     ON CONFLICT (user_id, mistake_kind) DO UPDATE SET occurrences = excluded.occurrences,
       hints_shown = excluded.hints_shown, last_seen = excluded.last_seen, last_hint_at = excluded.last_hint_at`,
    user,
    [...state.teaching].map(([kind, profile]) => ({ kind, ...profile }))
  )
  await saveRows(tx, user, rows)
}

export async function saveProfile(tx: Writer, user: string, profile: Profile): Promise<void> {
  await tx.execute(
    `INSERT INTO gamify_profiles (user_id, level, xp, crystals, lumens, energy, max_energy, last_energy_regen,
       streak_days, streak_shields, last_active_day, last_active, prestige, collegium, event_sequence,
       message_window_start, message_count)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (user_id) DO UPDATE SET level = excluded.level, xp = excluded.xp, crystals = excluded.crystals,
       lumens = excluded.lumens, energy = excluded.energy, max_energy = excluded.max_energy,
       last_energy_regen = excluded.last_energy_regen, streak_days = excluded.streak_days,
       streak_shields = excluded.streak_shields, last_active_day = excluded.last_active_day,
       last_active = excluded.last_active, prestige = excluded.prestige, collegium = excluded.collegium,
       event_sequence = excluded.event_sequence, message_window_start = excluded.message_window_start,
       message_count = excluded.message_count`,
    [
      user,
      profile.level,
      profile.xp,
      profile.crystals,
      profile.lumens,
      profile.energy,
      maxEnergy(profile.level),
      profile.energyAt,
      profile.streakDays,
      profile.streakShields,
      profile.lastActiveDay,
      profile.lastActive,
      profile.prestige,
      profile.collegium,
      profile.sequence,
      profile.messageWindowStart,
      profile.messageCount
    ]
  )
}

export async function saveCompanion(tx: Writer, { user, companion, profile }: UserState): Promise<void> {
  await tx.execute(
    `INSERT INTO gamify_companions (id, user_id, name, ascii_sprite, mood, health, energy, last_active)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET ascii_sprite = excluded.ascii_sprite, mood = excluded.mood,
       health = excluded.health, energy = excluded.energy, last_active = excluded.last_active`,
    [
      companionId(user),
      user,
      COMPANION_NAME,
      spriteOf(companion.mood),
      companion.mood,
      companion.health,
      companion.energy,
      profile.lastActive
    ]
  )
}

async function saveRows(tx: Writer, user: string, rows: NewRows): Promise<void> {
  await insert(
    tx,
    `INSERT INTO agent_events (agent_id, event_type, payload_json, timestamp)
     SELECT j.value ->> 'agentId', j.value ->> 'type', j.value ->> 'json',
       datetime((j.value ->> 'at') / 1000, 'unixepoch')
     FROM json_each(?1) AS j`,
    null,
    rows.agentEvents
  )
  await insert(
    tx,
    `INSERT INTO gamify_processed_events (user_id, sequence, event_type, at, dedupe_key)
     SELECT ?1, j.value ->> 'sequence', j.value ->> 'type', j.value ->> 'at', j.value ->> 'key' FROM json_each(?2) AS j`,
    user,
    rows.processed
  )
  await insert(
    tx,
    `INSERT INTO gamify_policy_snapshots (user_id, event_type, base_xp, base_crystals, base_lumens, mode_label,
       effective_multiplier, awarded_xp, awarded_crystals, awarded_lumens, streak_days, grind_capped, metadata_json,
       created_at)
     SELECT ?1, j.value ->> 'type', j.value ->> '$.base.xp', j.value ->> '$.base.crystals', j.value ->> '$.base.lumens',
       j.value ->> 'modeLabel', j.value ->> '$.reward.multiplier', j.value ->> '$.reward.xp',
       j.value ->> '$.reward.crystals', j.value ->> '$.reward.lumens', j.value ->> 'streakDays',
       j.value ->> '$.reward.grindCapped', j.value ->> 'metadata', datetime((j.value ->> 'at') / 1000, 'unixepoch')
     FROM json_each(?2) AS j`,
    user,
    rows.snapshots.map(each => ({
      ...each,
      metadata: JSON.stringify({ source: each.source, parts: each.reward.parts, shield: each.base.shield })
    }))
  )
  await insert(
    tx,
    `INSERT INTO gamify_notifications (user_id, kind, message, created_at)
     SELECT ?1, j.value ->> 'kind', j.value ->> 'text', j.value ->> 'at' FROM json_each(?2) AS j`,
    user,
    rows.messages
  )
  await insert(
    tx,
    `INSERT INTO gamify_level_history (user_id, level, xp, prestige, reached_at)
     SELECT ?1, j.value ->> 'level', j.value ->> 'xp', j.value ->> 'prestige', j.value ->> 'at' FROM json_each(?2) AS j`,
    user,
    rows.levels
  )
  await insert(
    tx,
    `INSERT INTO gamify_hint_telemetry (user_id, mistake_kind, event_type, outcome, hint, created_at)
     SELECT ?1, j.value ->> 'kind', j.value ->> 'type', j.value ->> 'outcome', j.value ->> 'text', j.value ->> 'at'
     FROM json_each(?2) AS j`,
    user,
    rows.hints
  )
  await insert(
    tx,
    `INSERT INTO gamify_ai_feedback (user_id, feedback, payload_json, created_at)
     SELECT ?1, j.value ->> 'feedback', j.value ->> 'json', j.value ->> 'at' FROM json_each(?2) AS j`,
    user,
    rows.feedback
  )
}

/** Inserts rows that are given as a JSON array. `user`: the first parameter; null: the rows are the only one. */
async function insert(tx: Writer, sql: string, user: string | null, values: readonly object[]): Promise<void> {
  if (values.length === 0) return
  const json = JSON.stringify(values)
  await tx.execute(sql, user === null ? [json] : [user, json])
}
