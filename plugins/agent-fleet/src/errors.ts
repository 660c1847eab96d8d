import { errorTable } from '@svc/plugin-sdk'

/** Errors that end the work on a task; the message becomes the failure reason of the task. */
export const fleetErrors = errorTable({
  FLT_GAVE_UP: { message: 'The model says that the task cannot be done.', status: 422 },
  FLT_HALTED: { message: 'An agent repeatedly received the same tool result, and is stopped.', status: 429 },
  FLT_TIMEOUT: { message: 'The work on a task exceeded its time limit.', status: 504 },
  FLT_VERDICT_INVALID: { message: "The model's decision does not match the required schema.", status: 502 }
})
