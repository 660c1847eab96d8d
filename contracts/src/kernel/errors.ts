import { errorTable } from '@svc/plugin-sdk'

/** Errors of kernel management, used by the kernel and by the plugins whose commands manage it. */
export const adminErrors = errorTable({
  CLI_NO_DAEMON: { message: 'The request needs a running daemon, and none runs for the project.', status: 503 },
  KRN_PLUGIN_UNKNOWN: { message: 'No plugin with that name was discovered.', status: 404 }
})
