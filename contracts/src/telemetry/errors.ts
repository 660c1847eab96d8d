import { errorTable } from '@svc/plugin-sdk'

export const metricErrors = errorTable({
  TEL_METRIC_INVALID: {
    message: 'A row for research_metrics has an invalid session, type, value or metadata.',
    status: 400
  }
})
