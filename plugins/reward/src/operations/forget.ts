import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import type { Dependencies } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { userIdOf } from '../gate.ts'
import { OWN_EVENTS } from '../store/retention.ts'
import { assertSettingsOn } from '../switches.ts'

const { RWD_OFF } = rewardErrors.specs

/** Tables with rows of a user. The configuration is kept, so that a stored switch stays off. */
const TABLES = [
  'gamify_profiles',
  'gamify_companions',
  'gamify_quests',
  'gamify_battles',
  'gamify_achievements',
  'gamify_teaching_profiles',
  'gamify_hint_telemetry',
  'gamify_ai_feedback',
  'gamify_level_history',
  'gamify_counters',
  'gamify_daily_counters',
  'gamify_combos',
  'gamify_notifications',
  'gamify_processed_events',
  'gamify_policy_snapshots'
] as const

/**
 * Events have the id of an agent or, without one, of the user. Those of the user's agents are found by the type and the
 * second of a reward, or of a recent event without a reward.
 */
const DELETE_EVENTS = `DELETE FROM agent_events WHERE ${OWN_EVENTS} AND (agent_id = ?1 OR (event_type, timestamp) IN (
  SELECT event_type, created_at FROM gamify_policy_snapshots WHERE user_id = ?1
  UNION SELECT event_type, datetime(at / 1000, 'unixepoch') FROM gamify_processed_events WHERE user_id = ?1))`

export const forgetOperation = defineOperation({
  id: 'reward.forget',
  summary: 'Delete the progress of the user',
  description: 'Also deletes the stored events of the user. The stored configuration stays.',
  input: t.object({}),
  output: t.object({ user_id: t.string(), rows: t.integer({ description: 'Deleted rows.' }) }),
  errors: { RWD_OFF },
  effect: 'destructive',
  idempotent: true,
  expose: { rpc: true, cli: { command: 'reward forget', view: { fields: ['user_id', 'rows'] } } }
})

export function forgetHandler(dependencies: Dependencies): Handler<typeof forgetOperation> {
  return async () => {
    assertSettingsOn(dependencies)
    await dependencies.engine.flush()
    const user = userIdOf(dependencies.settings())
    const rows = await dependencies.store.batch([
      { sql: DELETE_EVENTS, parameters: [user] },
      ...TABLES.map(table => ({ sql: `DELETE FROM ${table} WHERE user_id = ?`, parameters: [user] }))
    ])
    dependencies.changed()
    return { user_id: user, rows }
  }
}
