import { errorTable } from '@svc/plugin-sdk'

/** Errors of the model server. Each API renders them in its own format. */
export const errors = errorTable({
  MSV_REQUEST_INVALID: { message: 'The request does not match the API.', status: 400 },
  MSV_UNSUPPORTED: {
    message: 'The request uses an unsupported feature that would change the answer.',
    status: 400
  },
  MSV_CONSTRAINT_UNSUPPORTED: {
    message: 'The engine cannot enforce the constraint on the answer.',
    status: 400
  },
  MSV_CONTEXT_EXCEEDED: { message: 'The prompt does not fit into the context of the model.', status: 400 },
  MSV_UNAUTHORIZED: { message: 'The API key is missing or wrong.', status: 401 },
  MSV_TOO_MANY_KEYS: { message: 'Too many wrong API keys came from one address.', status: 429 },
  MSV_HOST: {
    message: 'A server on a loopback address received a request for another host name.',
    status: 403
  },
  MSV_MODEL_UNKNOWN: { message: 'This server does not serve the named model.', status: 404 },
  MSV_ADAPTER_UNKNOWN: { message: 'The model has no adapter with that name.', status: 404 },
  MSV_ADAPTER_EXISTS: { message: 'The model already has an adapter with that name.', status: 409 },
  MSV_ADAPTER_INVALID: { message: 'The adapter is inconsistent, or does not fit the model.', status: 400 },
  MSV_ADAPTER_DIRECTORY: { message: 'The folder of the adapter is outside of the allowed folders.', status: 403 },
  MSV_ADAPTER_UNSUPPORTED: { message: 'The engine cannot add adapters to this model.', status: 501 },
  MSV_RESPONSE_UNKNOWN: { message: 'The named response or item is not stored for this caller.', status: 404 },
  MSV_STORE_FAILED: { message: 'The response cannot be stored.', status: 503 },
  MSV_ROUTE_UNKNOWN: { message: 'This server does not have this route of the API.', status: 404 },
  MSV_BODY_TOO_LARGE: { message: 'The request body is larger than the limit.', status: 413 },
  MSV_MEDIA_TYPE: { message: 'A browser sent a body whose content type is not JSON.', status: 415 },
  MSV_EMBEDDINGS: { message: 'The model server has no embedding model or no reranker.', status: 501 },
  MSV_ROUTE_UNSUPPORTED: { message: 'This server does not support this route of the API.', status: 501 },
  MSV_BUSY: { message: 'Every slot is in use and the queue is full.', status: 503 },
  MSV_MODEL_LOADING: { message: 'The model is being loaded.', status: 503 },
  MSV_MODEL_FAILED: { message: 'The model could not be loaded.', status: 503 },
  MSV_OTHER_SERVER: { message: "The project's model server cannot answer the request.", status: 502 },
  MSV_STOPPED: { message: 'The server stopped before the answer was complete.', status: 503 },
  MSV_MODEL_NAME: { message: 'The name of a model is invalid.', status: 400 },
  MSV_MODEL_EXISTS: { message: 'A model with that name exists already.', status: 409 },
  MSV_MODEL_CONFIGURED: { message: 'The settings name the model, so commands cannot change it.', status: 409 },
  MSV_CATALOGUE: { message: 'The list of models cannot be read or written.', status: 500 },
  MSV_MEMORY: { message: 'The model does not fit into memory next to the models in use.', status: 503 },
  MSV_PULL_NAME: { message: 'The name, URL or path of a model to pull is invalid.', status: 400 },
  MSV_PULL_NOT_FOUND: { message: 'There is no such model to pull, or it needs access.', status: 404 },
  MSV_PULL_RUNNING: { message: 'The model is being pulled already.', status: 409 },
  MSV_PULL_FAILED: { message: 'A model could not be downloaded.', status: 502 },
  MSV_PULL_CHECKSUM: { message: 'A downloaded file is damaged.', status: 502 },
  MSV_PULL_SPACE: { message: 'The disk has too little space for the model.', status: 507 },
  MSV_RUN_DIRECTORY: { message: 'The run directory cannot be read.', status: 503 },
  MSV_TIMEOUT: { message: 'The answer took longer than the limit.', status: 504 }
})
