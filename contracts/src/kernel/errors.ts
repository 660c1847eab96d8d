import { errorTable } from '@svc/plugin-sdk'

/** Errors of kernel management, used by the kernel and by the plugins whose commands manage it. */
export const adminErrors = errorTable({
  CFG_CHANGED: { message: 'The configuration file is not the one that the change was made for.', status: 409 },
  CFG_VERSION_UNKNOWN: { message: 'No previous text of the configuration file has that number or id.', status: 404 },
  CFG_WRITE_REFUSED: { message: 'The changed configuration is invalid, or a plugin refuses it.', status: 409 },
  CLI_NO_DAEMON: { message: 'The request needs a running daemon, and none runs for the project.', status: 503 },
  KRN_PLUGIN_UNKNOWN: { message: 'No plugin with that name was discovered.', status: 404 }
})
