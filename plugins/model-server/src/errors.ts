import { errorTable } from '@svc/plugin-sdk'

/** Every error that the model server makes itself; each API shapes them in its own way. */
export const errors = errorTable({
  MSV_REQUEST_INVALID: { message: 'The request is not what the API defines.', status: 400 },
  MSV_UNSUPPORTED: {
    message: 'The request asks for something that would change the answer and is not there.',
    status: 400
  },
  MSV_CONSTRAINT_UNSUPPORTED: {
    message: 'The engine cannot enforce what the answer is to look like.',
    status: 400
  },
  MSV_CONTEXT_EXCEEDED: { message: 'The prompt does not fit into the context of the model.', status: 400 },
  MSV_UNAUTHORIZED: { message: 'The API key is missing or wrong.', status: 401 },
  MSV_TOO_MANY_KEYS: { message: 'Too many wrong API keys came from one address.', status: 429 },
  MSV_HOST: { message: 'A server on a loopback address was asked for by another host name.', status: 403 },
  MSV_MODEL_UNKNOWN: { message: 'The named model is not the one that is served.', status: 404 },
  MSV_ADAPTER_UNKNOWN: { message: 'The model has no adapter of that name.', status: 404 },
  MSV_ADAPTER_EXISTS: { message: 'The model has an adapter of that name already.', status: 409 },
  MSV_ADAPTER_INVALID: { message: 'The adapter does not fit itself or the model.', status: 400 },
  MSV_ADAPTER_DIRECTORY: { message: 'The folder of an adapter is not where adapters may be.', status: 403 },
  MSV_ADAPTER_UNSUPPORTED: { message: 'The engine cannot add adapters to this model.', status: 501 },
  MSV_ROUTE_UNKNOWN: { message: 'The API has this route, this server does not.', status: 404 },
  MSV_BODY_TOO_LARGE: { message: 'The request body is larger than the limit.', status: 413 },
  MSV_MEDIA_TYPE: { message: 'A browser sent a body that does not call itself JSON.', status: 415 },
  MSV_EMBEDDINGS: { message: 'The model server makes no embeddings.', status: 501 },
  MSV_ROUTE_UNSUPPORTED: { message: 'The API has this route, and it makes no sense for this server.', status: 501 },
  MSV_BUSY: { message: 'Every slot is taken and the queue is full.', status: 503 },
  MSV_MODEL_LOADING: { message: 'The model is being loaded.', status: 503 },
  MSV_MODEL_FAILED: { message: 'The model could not be loaded.', status: 503 },
  MSV_STOPPED: { message: 'The server stopped before the answer was complete.', status: 503 },
  MSV_RUN_DIRECTORY: { message: 'The run directory cannot be read.', status: 503 },
  MSV_TIMEOUT: { message: 'The answer took longer than a request may take.', status: 504 }
})
