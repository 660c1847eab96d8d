import { errorTable } from '@svc/plugin-sdk'

export const errors = errorTable({
  EXE_BUSY: { message: 'The queue of the checkpoint server is full.', status: 503 },
  EXE_CHECKPOINT_UNSAFE: {
    message: 'The run directory has only weights that run code when they are read.',
    status: 503
  },
  EXE_MODEL_UNKNOWN: { message: 'The checkpoint server does not serve a model of that name.', status: 404 },
  EXE_NOT_READY: { message: 'The model is not loaded.', status: 503 },
  EXE_OUTPUT_INVALID: { message: 'No attempt produced complete output of the requested form.', status: 422 },
  EXE_REQUEST_INVALID: { message: 'A request to the checkpoint server is invalid.', status: 400 },
  EXE_TIMEOUT: { message: 'A request exceeded its time limit.', status: 504 }
})
