/** Topics that the plugin announces. */
export const TOPICS = {
  logs: 'observability.logs',
  requests: 'observability.requests',
  /** While it is watched, new traces are recorded with all details. */
  spans: 'observability.spans',
  metrics: 'observability.metrics'
} as const
