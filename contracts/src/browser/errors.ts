import { errorTable } from '@svc/plugin-sdk'

/** Error codes of browser drivers. */
export const browserErrors = errorTable({
  BRW_ADDRESS: { message: 'A page was to be opened that no program may open.', status: 400 },
  BRW_CLOSED: { message: 'The browser was closed, or ended, while something was asked of it.', status: 503 },
  BRW_NAVIGATION: { message: 'A page could not be loaded.', status: 502 },
  BRW_NOT_INSTALLED: { message: 'There is no browser on this machine, or not where it was said to be.', status: 503 },
  BRW_NOT_STARTED: { message: 'The browser did not start.', status: 503 },
  BRW_PAGE_LIMIT: { message: 'As many pages are open as may be.', status: 503 },
  BRW_PAGE_UNKNOWN: { message: 'There is no such page, or it was closed.', status: 404 },
  BRW_TARGET: { message: 'A page does not have what is to be used, or it cannot be used in that way.', status: 422 },
  BRW_TIMEOUT: { message: 'A page took longer than it may.', status: 504 }
})
