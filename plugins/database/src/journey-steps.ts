import type { DatabaseStore } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { CANONICAL_JOURNEY } from './baseline/journeys.ts'
import { pluginErrors } from './errors.ts'

const { DBP_JOURNEY_UNKNOWN } = pluginErrors.specs

const step = t.object(
  {
    step_id: t.string(),
    ordinal: t.integer({ description: 'From 1.' }),
    actor: t.enum(['human', 'runtime', 'mcp', 'ci']),
    primary_operation_id: t.string(),
    maturity: t.enum(['stable', 'beta']),
    limitation_ids: t.array(t.string())
  },
  { additionalProperties: true }
)

export const journeySteps = defineOperation({
  id: 'database.journeySteps',
  summary: 'List the recorded steps of a developer journey, in order',
  input: t.object({
    journey_id: t.string({
      default: CANONICAL_JOURNEY,
      minLength: 1,
      maxLength: 2048,
      description: 'Id of the journey.'
    })
  }),
  output: t.object({ journey_id: t.string(), steps: t.array(step) }),
  errors: { DBP_JOURNEY_UNKNOWN },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/database/journey-steps' },
    mcp: {
      name: 'svc_journey_canonical_steps',
      result: 'tool-result',
      lane: 'ai',
      readRole: true,
      toolsets: ['planning'],
      use: 'The recommended way from a new repository to a release. Steps of a plan of yours: svc_plan_status.'
    },
    rpc: true
  }
})

export function journeyStepsHandler(store: DatabaseStore): Handler<typeof journeySteps> {
  return async ({ journey_id }, call) => {
    const { rows } = await store.query(
      'SELECT step_json FROM developer_journey_steps WHERE journey_id = ? ORDER BY ordinal',
      [journey_id]
    )
    if (rows.length === 0) return call.fail('DBP_JOURNEY_UNKNOWN', `the database has no journey ${journey_id}`)
    return { journey_id, steps: rows.map(([json]) => JSON.parse(String(json))) }
  }
}
