import { errorTable } from '@svc/plugin-sdk'

/** Codes of the inference client. */
export const clientErrors = errorTable({
  ICL_ADDRESS_INVALID: { message: 'A setting for a model server is not a valid address.', status: 400 },
  ICL_BROKEN_OFF: { message: 'The model server ended an incomplete answer.', status: 502 },
  ICL_BUSY: { message: 'The model server is busy.', status: 503 },
  ICL_MODEL_UNKNOWN: { message: 'The model server does not offer the model.', status: 404 },
  ICL_REFUSED: { message: 'The model server refused a request.', status: 502 },
  ICL_RUNNING_UNKNOWN: { message: 'The model server does not list its loaded models.', status: 501 },
  ICL_UNAUTHORIZED: { message: 'The model server requires a valid key.', status: 502 },
  ICL_UNREACHABLE: { message: 'No model server answers.', status: 503 }
})
