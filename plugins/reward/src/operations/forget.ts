import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import type { Dependencies } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { userIdOf } from '../gate.ts'
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

export const forgetOperation = defineOperation({
  id: 'reward.forget',
  summary: 'Delete the progress of the user',
  description: 'Rows of agent_events stay, since other plugins use that table, too.',
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
    const rows = await dependencies.store.batch(
      TABLES.map(table => ({ sql: `DELETE FROM ${table} WHERE user_id = ?`, parameters: [user] }))
    )
    dependencies.changed()
    return { user_id: user, rows }
  }
}
