import { errorTable } from '@svc/plugin-sdk'

/** Error codes of every coordination store. */
export const coordinationErrors = errorTable({
  CRD_CLOSED: { message: 'A coordination store is closed.', status: 503 },
  CRD_FAILED: { message: 'A statement of a coordination store failed.', status: 500 },
  CRD_TOO_LARGE: { message: 'A body, key or name is larger than its limit.', status: 413 },
  CRD_UNAVAILABLE: {
    message: 'The database of a coordination store does not respond; the call may have taken effect.',
    status: 503
  },
  CRD_VALUE_INVALID: { message: 'A parameter of a coordination store has a wrong type or range.', status: 400 }
})
