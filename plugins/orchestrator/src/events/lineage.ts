import type { LineageRow } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import type { TableRow } from '../state/changes.ts'

/** Maximum characters of a goal in a lineage row. */
const GOAL_PREVIEW = 240

/** Settings for lineage. If set, `campaign_id` is added to every payload. */
export type LineageSettings = Pick<Settings, 'lineage_off' | 'campaign_id'>

/** Returns a row of `orchestration_lineage_events`; null if lineage is off. `at`: Unix milliseconds. */
export function lineageRow(
  { lineage_off, campaign_id }: LineageSettings,
  repositoryId: string,
  at: number,
  row: LineageRow
): TableRow | null {
  if (lineage_off) return null
  return {
    table: 'orchestration_lineage_events',
    values: {
      repository_id: repositoryId,
      kind: row.kind,
      task_id: row.task_id ?? 0,
      agent_id: row.agent_id === undefined ? null : String(row.agent_id),
      session_id: row.session_id ?? null,
      workflow_id: row.workflow_id ?? null,
      plan_session_id: row.plan_session_id ?? null,
      plan_node_id: row.plan_node_id ?? null,
      payload_json: payloadOf(row, campaign_id),
      created_at_ms: at
    }
  }
}

function payloadOf({ payload = {} }: LineageRow, campaign: string | undefined): string | null {
  const { goal_preview } = payload
  if (typeof goal_preview !== 'string' && campaign === undefined) {
    const json = JSON.stringify(payload)
    return json === '{}' ? null : json
  }
  return JSON.stringify({
    ...payload,
    ...(typeof goal_preview === 'string' ? { goal_preview: firstCharacters(goal_preview, GOAL_PREVIEW) } : {}),
    ...(campaign === undefined ? {} : { campaign_id: campaign })
  })
}

/** Returns the first `count` code points, so that no surrogate pair is split. */
function firstCharacters(text: string, count: number): string {
  return text.length <= count ? text : [...text.slice(0, count * 2)].slice(0, count).join('')
}
