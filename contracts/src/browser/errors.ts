import { errorTable } from '@svc/plugin-sdk'

/** Error codes of browser drivers. */
export const browserErrors = errorTable({
  BRW_ADDRESS: { message: 'Programs may not open this address.', status: 400 },
  BRW_CLOSED: { message: 'The browser was closed or crashed during a call.', status: 503 },
  BRW_NAVIGATION: { message: 'A page could not be loaded.', status: 502 },
  BRW_NOT_INSTALLED: {
    message: 'No browser is installed on this machine, or the configured path has no browser.',
    status: 503
  },
  BRW_NOT_STARTED: { message: 'The browser did not start.', status: 503 },
  BRW_PAGE_LIMIT: { message: 'The limit of open pages is reached.', status: 503 },
  BRW_PAGE_UNKNOWN: { message: 'The page does not exist, or was closed.', status: 404 },
  BRW_TARGET: { message: 'A page does not have the target, or the target does not support the action.', status: 422 },
  BRW_TIMEOUT: { message: 'A page exceeded its time limit.', status: 504 }
})
