import { errorTable } from '@svc/plugin-sdk'

/** Why the fleet ends the work on a task; the message becomes the reason of its failure. */
export const fleetErrors = errorTable({
  FLT_GAVE_UP: { message: 'The model says that a task cannot be done.', status: 422 },
  FLT_HALTED: { message: 'An agent repeatedly received the same result from its tools, and is stopped.', status: 429 },
  FLT_TIMEOUT: { message: 'The work on a task exceeded its time limit.', status: 504 },
  FLT_VERDICT_INVALID: { message: 'The decision of a model does not have the required form.', status: 502 }
})
