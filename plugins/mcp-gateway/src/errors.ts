import { errorTable } from '@svc/plugin-sdk'

/** Error codes of the gateway. */
export const gatewayErrors = errorTable({
  GWY_TOKEN_MISSING: { message: 'The gateway is enabled, but no token is set.' },
  GWY_TOKENS_EQUAL: { message: 'The tokens of the two roles are equal.' },
  GWY_TOOL_UNKNOWN: { message: 'A list of allowed tools has a name that no installed plugin offers.' },
  GWY_ORIGIN_INVALID: { message: 'An entry of allowed_origins is not an origin.' },
  GWY_ORIGIN_DENIED: { message: 'Pages of that origin may not call the gateway.', status: 403 },
  GWY_HOST_DENIED: { message: 'The gateway does not serve that host name.', status: 403 },
  GWY_UNAUTHORIZED: { message: 'The bearer token is missing or wrong.', status: 401 },
  GWY_HTTPS_REQUIRED: { message: 'The request did not arrive over HTTPS.', status: 403 },
  GWY_RATE_LIMITED: { message: 'The client sent too many requests.', status: 429 },
  GWY_NOT_FOUND: { message: 'The gateway has no such route.', status: 404 },
  GWY_METHOD_NOT_ALLOWED: { message: 'The route does not accept the method.', status: 405 },
  GWY_UPGRADE_REQUIRED: { message: 'The route accepts only websocket handshakes.', status: 426 },
  GWY_REQUEST_INVALID: { message: 'The body is not a tool call.', status: 400 },
  GWY_RESULT_INVALID: { message: 'The result of the tool cannot be written as JSON.' },
  GWY_TOO_MANY_SOCKETS: { message: 'Too many websockets are open.', status: 503 },
  GWY_REPLACED: { message: 'The gateway is being replaced.', status: 503 }
})
