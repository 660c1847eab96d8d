import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { HINT_KINDS } from '../rules/hints.ts'
import { rowsOf } from '../store/load-state.ts'

const { RWD_OFF } = rewardErrors.specs

export const hintsOperation = defineOperation({
  id: 'reward.hints',
  summary: 'List kinds of mistakes with the hints that were shown',
  input: t.object({}),
  output: t.object({
    hints: t.array(
      t.object({
        kind: t.string(),
        events: t.string({ description: 'Types of events, separated by commas.' }),
        cooldown_seconds: t.integer({ description: 'Time between two hints.' }),
        occurrences: t.integer(),
        hints_shown: t.integer(),
        last_hint: t.optional(t.string()),
        last_hint_at: t.optional(t.string({ format: 'date-time' }))
      })
    )
  }),
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/hints' },
    rpc: true,
    cli: {
      command: 'reward hints',
      view: { rows: 'hints', columns: ['kind', 'occurrences', 'hints_shown', 'last_hint'] }
    }
  }
})

export function hintsHandler(dependencies: Dependencies): Handler<typeof hintsOperation> {
  return async () => {
    const { tx, user } = await settledReader(dependencies)
    const rows = await rowsOf(
      tx,
      `SELECT mistake_kind, occurrences, hints_shown, last_hint_at, (SELECT hint FROM gamify_hint_telemetry AS h
         WHERE h.user_id = p.user_id AND h.mistake_kind = p.mistake_kind AND hint IS NOT NULL ORDER BY id DESC LIMIT 1)
         AS last_hint
       FROM gamify_teaching_profiles AS p WHERE user_id = ?`,
      [user]
    )
    const known = new Map(rows.map(row => [String(row.mistake_kind), row]))
    return {
      hints: HINT_KINDS.map(({ kind, events, cooldownSeconds }) => {
        const row = known.get(kind)
        const at = row?.last_hint_at ?? null
        return {
          kind,
          events: events.join(', '),
          cooldown_seconds: cooldownSeconds,
          occurrences: Number(row?.occurrences ?? 0),
          hints_shown: Number(row?.hints_shown ?? 0),
          ...defined({
            last_hint: typeof row?.last_hint === 'string' ? row.last_hint : undefined,
            last_hint_at: at === null ? undefined : new Date(Number(at)).toISOString()
          })
        }
      })
    }
  }
}
