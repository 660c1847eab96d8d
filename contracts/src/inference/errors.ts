import { errorTable } from '@svc/plugin-sdk'

/** Error codes of requests to models, whichever server answers them. */
export const inferenceErrors = errorTable({
  ICL_ADDRESS_INVALID: { message: 'A setting for a model server is not a valid address.', status: 400 },
  ICL_BROKEN_OFF: { message: 'The answer of the model server ended early.', status: 502 },
  ICL_BUSY: { message: 'The model server is busy.', status: 503 },
  ICL_IMAGE_INVALID: { message: 'An image of a request is not valid.', status: 400 },
  ICL_MODEL_UNKNOWN: { message: 'The model server does not offer the model.', status: 404 },
  ICL_REFUSED: { message: 'The model server rejected a request.', status: 502 },
  ICL_RUNNING_UNKNOWN: { message: 'The model server does not list its loaded models.', status: 501 },
  ICL_UNAUTHORIZED: { message: 'The model server requires a valid key.', status: 502 },
  ICL_UNREACHABLE: { message: 'No model server is reachable.', status: 503 }
})
