import { errorTable } from '@svc/plugin-sdk'

/** Errors of the kernel (`KRN_…`) and of calls (`OPR_…`). Configuration and loader declare their own. */
export const kernelErrors = errorTable({
  KRN_ACTIVATE_FAILED: { message: "A plugin's activate threw or did not settle within its timeout." },
  KRN_ARGUMENT_INVALID: { message: 'A plugin called a function of its context with a wrong argument.' },
  KRN_CLOSED: { message: 'The kernel is closing or closed.', status: 503 },
  KRN_CONFLICT: { message: 'Two plugins contribute the same operation, route, method, command, service or key.' },
  KRN_CYCLE: { message: 'Plugins require services of each other in a cycle.' },
  KRN_IMPLEMENTATION_MISSING: { message: 'A plugin declares an operation, command or service but does not supply it.' },
  KRN_ISOLATION_CRASHED: { message: 'The worker or process of an isolated plugin ended unexpectedly.', status: 503 },
  KRN_NOT_REMOTABLE: {
    message: 'An isolated plugin used a feature that works only in-process, or a contribution that must be data is not.'
  },
  KRN_SCOPE_CLOSED: { message: 'A disposed plugin tried to register or use a resource.' },
  KRN_SERVICE_GONE: {
    message: 'A service reference was used while no active plugin provides the service.',
    status: 503
  },
  KRN_SETTINGS_REFUSED: { message: 'A running plugin rejected a change of its live settings.' },
  KRN_SURFACE_REFUSED: { message: 'A surface could not be prepared for the next generation.' },
  KRN_TAP_TIMEOUT: { message: 'A tap on a hook did not finish within its time limit.', status: 503 },
  KRN_UNDECLARED: {
    message: 'A plugin supplied an operation, command, service or contribution that its definition does not declare.'
  },
  OPR_CANCELLED: { message: 'The caller disconnected or cancelled.', status: 499 },
  OPR_FAILED: { message: 'The handler failed with an error that the operation does not declare.', status: 500 },
  OPR_FORBIDDEN: { message: 'The caller lacks a scope that the operation requires.', status: 403 },
  OPR_INPUT_INVALID: { message: 'The input does not match the schema of the operation.', status: 400 },
  OPR_OUTPUT_INVALID: { message: 'The handler returned a result that does not match its schema.', status: 500 },
  OPR_TIMEOUT: { message: 'The operation did not finish before its deadline.', status: 504 },
  OPR_UNAVAILABLE: {
    message: 'The operation is temporarily disabled after repeated faults, or its plugin is not active.',
    status: 503
  },
  OPR_UNKNOWN: { message: 'No plugin offers an operation with that id.', status: 404 }
})
