import { t } from '@svc/plugin-sdk'

export const settings = t.object({
  consumer_id: t.optional(
    t.string({
      minLength: 1,
      maxLength: 256,
      'x-env': 'SVC_A2A_CONSUMER_ID',
      description: 'Name of this consumer of durable messages. Default: pid: and the process id.'
    })
  ),
  lease_ms: t.integer({
    default: 120_000,
    minimum: 1_000,
    maximum: 3_600_000,
    description: 'Milliseconds for which a durable message stays claimed by its reader.'
  }),
  max_attempts: t.optional(
    t.integer({
      minimum: 1,
      maximum: 1_000_000,
      description: 'Deliveries after which an unacknowledged durable message becomes a dead letter. Default: unlimited.'
    })
  ),
  retention_days: t.integer({
    default: 30,
    minimum: 1,
    description: 'Days after which acknowledged durable messages are deleted.'
  })
})
