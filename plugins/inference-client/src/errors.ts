import { errorTable } from '@svc/plugin-sdk'

/** Codes of the inference client. */
export const clientErrors = errorTable({
  ICL_ADDRESS_INVALID: { message: 'A setting that names a model server is no address.', status: 400 },
  ICL_BROKEN_OFF: { message: 'The model server ended an answer before it was whole.', status: 502 },
  ICL_BUSY: { message: 'The model server takes no further request now.', status: 503 },
  ICL_MODEL_UNKNOWN: { message: 'The model server does not offer the model.', status: 404 },
  ICL_REFUSED: { message: 'The model server refused a request.', status: 502 },
  ICL_RUNNING_UNKNOWN: { message: 'The model server does not tell which models it has loaded.', status: 501 },
  ICL_UNAUTHORIZED: { message: 'The model server does not take the key, or wants one.', status: 502 },
  ICL_UNREACHABLE: { message: 'No model server answers.', status: 503 }
})
