import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { rowsOf } from '../store/load-state.ts'

const { RWD_OFF } = rewardErrors.specs

export const eventsOperation = defineOperation({
  id: 'reward.events',
  summary: 'List rewards with their explanation, newest first',
  input: t.object({
    limit: t.integer({ default: 50, minimum: 1, maximum: 500, description: 'Maximum rewards.' }),
    type: t.optional(t.string({ minLength: 1, maxLength: 200, description: 'Only this type of event.' }))
  }),
  output: t.object({
    events: t.array(
      t.object({
        id: t.integer(),
        at: t.string({ format: 'date-time' }),
        type: t.string(),
        source: t.string({ description: 'event, special, combo, streak, quest or battle.' }),
        xp: t.integer(),
        crystals: t.integer(),
        lumens: t.integer(),
        base_xp: t.integer(),
        base_crystals: t.integer(),
        base_lumens: t.integer(),
        multiplier: t.number(),
        explanation: t.string({ description: 'Factors of the multiplier.' }),
        mode_label: t.string(),
        grind_capped: t.boolean({ description: 'Whether the reward fell because the type occurred often.' })
      })
    )
  }),
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/events' },
    rpc: true,
    cli: {
      command: 'reward events',
      view: { rows: 'events', columns: ['at', 'type', 'xp', 'crystals', 'lumens', 'explanation'] }
    }
  }
})

export function eventsHandler(dependencies: Dependencies): Handler<typeof eventsOperation> {
  return async ({ limit, type }) => {
    const { tx, user } = await settledReader(dependencies)
    const rows = await rowsOf(
      tx,
      `SELECT * FROM gamify_policy_snapshots WHERE user_id = ?1 AND (?2 IS NULL OR event_type = ?2)
       ORDER BY id DESC LIMIT ?3`,
      [user, type ?? null, limit]
    )
    return {
      events: rows.map(row => {
        const { source = 'event', parts } = metadataOf(row.metadata_json)
        return {
          id: Number(row.id),
          at: `${String(row.created_at).replace(' ', 'T')}Z`,
          type: String(row.event_type),
          source,
          xp: Number(row.awarded_xp),
          crystals: Number(row.awarded_crystals),
          lumens: Number(row.awarded_lumens),
          base_xp: Number(row.base_xp),
          base_crystals: Number(row.base_crystals),
          base_lumens: Number(row.base_lumens),
          multiplier: Number(row.effective_multiplier),
          explanation: explain(Number(row.base_xp), parts),
          mode_label: String(row.mode_label),
          grind_capped: Number(row.grind_capped) === 1
        }
      })
    }
  }
}

interface Metadata {
  readonly source?: string
  readonly parts?: Readonly<Record<string, number>>
}

function metadataOf(json: unknown): Metadata {
  if (typeof json !== 'string') return {}
  try {
    const { source, parts } = JSON.parse(json) as Metadata
    return defined({ source, parts })
  } catch {
    return {}
  }
}

/** Returns the base experience and the factors that differ from 1: `50 xp x mode 0.5 x novelty 1.5`. */
function explain(baseXp: number, parts: Metadata['parts']): string {
  if (parts === undefined) return `${baseXp} xp, a fixed reward`
  const factors = Object.entries(parts)
    .filter(([, factor]) => factor !== 1)
    .map(([name, factor]) => `${name} ${Number(factor.toFixed(3))}`)
  return [`${baseXp} xp`, ...factors].join(' x ')
}
