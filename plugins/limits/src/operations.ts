import { dashboardInboxOutput } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'

/** Topic that is announced when a warning begins or ends. */
export const LIMITS_TOPIC = 'limits.warnings'

export const limitsStatus = defineOperation({
  id: 'limits.status',
  summary: 'Show free disk space, used memory, and the limits of both',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean({ description: 'False while a warning holds.' }),
    measured_at: t.string({ description: 'ISO 8601.' }),
    disk_free_bytes: t.integer(),
    disk_size_bytes: t.integer(),
    memory_used_bytes: t.integer(),
    memory_limit_bytes: t.integer(),
    memory_source: t.enum(['cgroup', 'machine']),
    rss_bytes: t.integer(),
    heap_used_bytes: t.integer(),
    heap_limit_bytes: t.integer(),
    refuses_writes: t.boolean({ description: 'Whether the database refuses writes now.' }),
    warnings: t.array(
      t.object({
        resource: t.enum(['disk', 'memory', 'heap']),
        level: t.enum(['warn', 'refuse']),
        message: t.string(),
        hint: t.string(),
        since: t.string({ description: 'ISO 8601.' })
      })
    ),
    text: t.string()
  }),
  effect: 'read',
  watch: { on: [LIMITS_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/limits' },
    rpc: true,
    cli: { command: 'limits', view: { text: 'text' } }
  }
})

export const limitsInbox = defineOperation({
  id: 'limits.inbox',
  summary: 'List resources that are nearly used up',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [LIMITS_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})
