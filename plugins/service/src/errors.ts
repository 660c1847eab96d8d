import { errorTable } from '@svc/plugin-sdk'

export const serviceErrors = errorTable({
  SRV_FOREIGN_FILE: { message: 'A file of the service was not written by svc.', status: 409 },
  SRV_MANAGER_FAILED: { message: 'The service manager refused a command.', status: 502 },
  SRV_NOT_INSTALLED: { message: 'No service of that name is installed.', status: 404 },
  SRV_OPTIONS: { message: 'Options of svc service do not belong together, or do not fit this system.', status: 400 },
  SRV_PERMISSION: { message: 'A service of the system can only be changed by root.', status: 403 },
  SRV_UNSUPPORTED: { message: 'The system has no service manager that svc supports.', status: 501 },
  SRV_USER: { message: 'The user of the service is unknown, or is root.', status: 400 },
  SRV_WRITE_FAILED: { message: 'A file of the service could not be written or removed.', status: 500 }
})
