import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  interval_s: t.number({
    default: 60,
    minimum: 0.1,
    maximum: 3_600,
    'x-reload': 'live',
    description: 'Seconds between two measurements.'
  }),
  disk_warn_mb: t.integer({
    default: 1_024,
    minimum: 0,
    'x-env': 'SVC_DISK_WARN_MB',
    'x-reload': 'live',
    description: 'Free space of the disk of the state folder, in MiB, below which svc warns; 0: never.'
  }),
  disk_refuse_mb: t.integer({
    default: 64,
    minimum: 0,
    'x-env': 'SVC_DISK_REFUSE_MB',
    'x-reload': 'live',
    description: 'Free space of the disk, in MiB, below which the database refuses writes; 0: never.'
  }),
  memory_warn_percent: t.integer({
    default: 90,
    minimum: 0,
    maximum: 100,
    'x-env': 'SVC_MEMORY_WARN_PERCENT',
    'x-reload': 'live',
    description: 'Used memory of the container, or else of the machine, in percent, from which svc warns; 0: never.'
  }),
  heap_warn_percent: t.integer({
    default: 85,
    minimum: 0,
    maximum: 100,
    'x-reload': 'live',
    description: "Used part of the JavaScript heap's limit, in percent, from which svc warns; 0: never."
  })
})

export type Settings = Infer<typeof settings>
