import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  idle_seconds: t.integer({
    default: 1800,
    minimum: 1,
    description: 'Seconds without a turn after which a session is idle.'
  }),
  archive_seconds: t.integer({
    default: 86_400,
    minimum: 1,
    description: 'Seconds without a turn after which a session is archived.'
  }),
  max_live: t.integer({
    default: 16,
    minimum: 1,
    maximum: 1024,
    description: 'Maximum active or idle sessions; beyond it, the one with the longest idle time is archived.'
  }),
  fsync: t.enum(['auto', 'always', 'never'], {
    default: 'auto',
    description:
      'Whether session files are flushed to disk before a turn is acknowledged; auto: only without a database.'
  })
})

export type Settings = Infer<typeof settings>
