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
    description: 'Sessions that are active or idle at once; the one that was idle longest is archived for one more.'
  }),
  fsync: t.enum(['auto', 'always', 'never'], {
    default: 'auto',
    description:
      'When files of sessions are brought to the disk before a turn is acknowledged; auto: where no database has it.'
  })
})

export type Settings = Infer<typeof settings>
