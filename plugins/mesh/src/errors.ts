import { errorTable } from '@svc/plugin-sdk'

export const meshPluginErrors = errorTable({
  MSP_ANSWER_INVALID: { message: 'A control plane sent an answer that cannot be read.', status: 502 },
  MSP_FILE_UNREADABLE: { message: 'A file of the mesh in the data folder cannot be read or written.', status: 500 },
  MSP_NOT_JOINED: { message: 'No control plane is configured.', status: 409 },
  MSP_NO_TASKS: { message: 'No orchestrator runs in this process.', status: 503 },
  MSP_REFUSED: { message: 'A control plane refused a request.', status: 502 },
  MSP_UNREACHABLE: { message: 'No control plane can be reached.', status: 503 }
})
