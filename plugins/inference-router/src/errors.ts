import { errorTable } from '@svc/plugin-sdk'

/** Errors of the inference router. Each API renders them in its format. */
export const routerErrors = errorTable({
  IRT_SERVER_INVALID: { message: 'A configured model server is not valid.', status: 500 },
  IRT_REQUEST_INVALID: { message: 'The request does not match the API.', status: 400 },
  IRT_UNAUTHORIZED: { message: 'The API key is missing or wrong.', status: 401 },
  IRT_TOO_MANY_KEYS: { message: 'Too many wrong API keys came from one address.', status: 429 },
  IRT_HOST: { message: 'A router on a loopback address received a request for another host name.', status: 403 },
  IRT_ORIGIN: { message: 'A web page called a router that requires no API key.', status: 403 },
  IRT_MEDIA_TYPE: { message: 'A browser sent a body whose content type is not JSON.', status: 415 },
  IRT_BODY_TOO_LARGE: { message: 'The request body is larger than the limit.', status: 413 },
  IRT_MODEL_UNKNOWN: { message: 'No server has the named model.', status: 404 },
  IRT_ROUTE_UNKNOWN: { message: 'The router does not have this route.', status: 404 },
  IRT_API_UNSUPPORTED: { message: 'The servers with the model do not serve this API.', status: 501 },
  IRT_NO_SERVERS: { message: 'The router has no model servers.', status: 503 },
  IRT_UNAVAILABLE: { message: 'Every server with the model is down or refuses requests.', status: 503 },
  IRT_BUSY: { message: 'The router has too many requests in flight.', status: 503 },
  IRT_STOPPED: { message: 'The router stopped before a server responded.', status: 503 },
  IRT_SERVER_FAILED: { message: 'The model servers failed before the answer began.', status: 502 },
  IRT_LOOP: { message: 'A request came back to the router that sent it.', status: 508 },
  IRT_SERVER_TIMEOUT: { message: 'The model server sent nothing for too long.', status: 504 }
})
