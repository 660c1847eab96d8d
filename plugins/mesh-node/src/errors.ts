import { errorTable } from '@svc/plugin-sdk'

export const meshNodeErrors = errorTable({
  MND_ANSWER_INVALID: { message: 'A control plane returned an answer that cannot be read.', status: 502 },
  MND_HTTP_STATUS: { message: 'A control plane refused a request; data has status, context and body.', status: 502 },
  MND_JOB_LATE: { message: 'A job on another node did not end within the time limit of its step.', status: 504 },
  MND_NO_NODE: { message: 'No node of the mesh fits the work.', status: 503 },
  MND_NOT_CONFIGURED: { message: 'A call needs a control plane, and no control URL is set.', status: 409 },
  MND_PAYLOAD_INVALID: { message: 'A message of another node has an invalid payload.', status: 400 },
  MND_PROCESSOR_FAILED: { message: 'The processor of remote work failed or ended without a result.', status: 500 },
  MND_TIMEOUT: { message: 'A control plane took longer than the limit; the call may have taken effect.', status: 504 },
  MND_UNREACHABLE: { message: 'No control plane could be reached.', status: 503 }
})
