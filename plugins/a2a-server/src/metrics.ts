export interface ServerNumbers {
  readonly streams: number
  /** Tasks that this process follows in its orchestrator. */
  readonly tasks: number
  /** Null if push notifications are off. */
  readonly push: { readonly sent: number; readonly failed: number; readonly dropped: number } | null
}

/** Returns the metrics of this process in the Prometheus text format. */
export function renderMetrics({ streams, tasks, push }: ServerNumbers): string {
  const lines = [
    '# HELP svc_a2a_streams Open streams and waiting requests.',
    '# TYPE svc_a2a_streams gauge',
    `svc_a2a_streams ${streams}`,
    '# HELP svc_a2a_tasks Tasks of A2A clients that the orchestrator of this process has.',
    '# TYPE svc_a2a_tasks gauge',
    `svc_a2a_tasks ${tasks}`
  ]
  if (push !== null) {
    lines.push(
      '# HELP svc_a2a_notifications_total Attempts to send push notifications.',
      '# TYPE svc_a2a_notifications_total counter',
      ...Object.entries(push).map(([result, count]) => `svc_a2a_notifications_total{result="${result}"} ${count}`)
    )
  }
  return `${lines.join('\n')}\n`
}
