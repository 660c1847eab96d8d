import { errorTable } from '@svc/plugin-sdk'

export const restoreErrors = errorTable({
  BKR_BUSY: { message: 'Another process finishes a restore of this project.', status: 503 },
  BKR_JOURNAL_INVALID: { message: 'The journal of an interrupted restore is damaged or refers to a link.', status: 409 }
})
