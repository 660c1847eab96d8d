import type { AgentEvent } from '@svc/contracts'
import { t } from '@svc/plugin-sdk'
import { short } from '../feeds/task-row.ts'
import { eventLine } from '../top/event-line.ts'

/** Maximum characters of an event as text. */
const MAX_TEXT = 500

/** Event as a line of a log. */
export const eventRow = t.object({
  id: t.integer(),
  timestamp_ms: t.integer(),
  type: t.string(),
  text: t.string({ description: 'Type and fields of the event; at most 500 characters.' })
})

export function shownEvent({ id, timestamp_ms, kind }: AgentEvent) {
  return { id, timestamp_ms, type: kind.type, text: short(eventLine(kind), MAX_TEXT) }
}
