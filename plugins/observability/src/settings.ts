import { type Infer, t } from '@svc/plugin-sdk'

export const settings = t.object({
  log_lines: t.integer({
    default: 5_000,
    minimum: 1,
    maximum: 100_000,
    description: 'Number of log lines kept in memory'
  }),
  requests: t.integer({
    default: 4_096,
    minimum: 1,
    maximum: 100_000,
    description: 'Number of requests kept in memory'
  }),
  spans: t.integer({
    default: 20_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Number of spans kept in memory'
  }),
  sample: t.number({
    default: 0,
    minimum: 0,
    maximum: 1,
    description:
      'Part of the requests that are recorded with all details, such as database statements; 1: all. svc dev sets 1'
  }),
  file: t.boolean({
    default: true,
    description: 'Whether the log is also written to logs/svc.jsonl of the state folder'
  }),
  file_max_bytes: t.integer({
    default: 10_485_760,
    minimum: 4_096,
    description: 'File size at which the log is rotated'
  }),
  files: t.integer({
    default: 5,
    minimum: 1,
    maximum: 100,
    description: 'Number of log files, including the current one'
  }),
  request_file: t.boolean({
    default: false,
    description: 'Whether every request is also written to logs/requests.jsonl; svc run and svc dev set it'
  })
})

export type Settings = Infer<typeof settings>
