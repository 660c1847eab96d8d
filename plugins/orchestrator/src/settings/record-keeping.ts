import { t } from '@svc/plugin-sdk'
import { integer, milliseconds } from './declare.ts'

/** Settings for logs, events and records. */
export const recordKeeping = {
  log_level: t.string({
    default: 'info',
    'x-env': 'SVC_ORCHESTRATOR_LOG_LEVEL',
    'x-reload': 'live',
    description: 'Minimum level of the orchestrator’s log: trace, debug, info, warn, error, silent.'
  }),
  event_log: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORCHESTRATOR_EVENT_LOG',
      description: 'File that gets every event as one JSON line; relative to the project. Default: no file.'
    })
  ),
  lineage_off: t.boolean({
    default: false,
    'x-env': 'SVC_ORCH_LINEAGE_OFF',
    'x-env-type': 'truthy',
    description: 'Whether writing of lineage rows is turned off.'
  }),
  campaign_id: t.optional(
    t.string({
      minLength: 1,
      'x-env': 'SVC_ORCH_CAMPAIGN_ID',
      'x-reload': 'live',
      description: 'Campaign that lineage rows name.'
    })
  ),
  commit_timeout_ms: milliseconds(10_000, 100, 'Milliseconds that a caller waits for the database to store a change.'),
  commit_queue_limit: integer(
    20_000,
    [1, 10_000_000],
    'Maximum changes that wait for the database; at the limit, commands are rejected.'
  )
}
