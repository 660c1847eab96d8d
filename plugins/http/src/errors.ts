import { errorTable } from '@svc/plugin-sdk'

/** Error codes of HTTP; those about bodies are in the contracts. */
export const httpErrors = errorTable({
  HTTP_PORT_IN_USE: { message: 'Another process, or another listener of this process, uses the port.' },
  HTTP_BIND_FAILED: { message: 'The operating system refused the address or the port.' },
  HTTP_ROUTE_CONFLICT: { message: 'Two plugins claim one route, one websocket path or one listener name.' },
  HTTP_ROUTES_INVALID: {
    message: 'The routes that a plugin registered are invalid, or differ from the declared ones.'
  },
  HTTP_LISTENER_UNKNOWN: { message: 'A route names a listener that no plugin contributes.' },
  HTTP_MALFORMED: { message: 'The request is not valid HTTP.', status: 400 },
  HTTP_PATH_INVALID: { message: 'The path contains an invalid percent escape.', status: 400 },
  HTTP_QUERY_INVALID: { message: 'A query parameter cannot be read, or the route accepts none.', status: 400 },
  HTTP_BODY_UNEXPECTED: {
    message: 'The route accepts no body, or a field is both in the path and in the body.',
    status: 400
  },
  HTTP_TOKEN_MISSING: { message: 'The settings require a token from every caller, but set none.' },
  HTTP_UNAUTHORIZED: { message: 'The bearer token is missing or wrong.', status: 401 },
  HTTP_TOO_MANY_TOKENS: { message: 'Too many wrong bearer tokens came from one address.', status: 429 },
  HTTP_HOST_FORBIDDEN: { message: 'The Host header names a host that this server does not serve.', status: 403 },
  HTTP_ORIGIN_FORBIDDEN: { message: 'A browser page of another origin made the request.', status: 403 },
  HTTP_NOT_FOUND: { message: 'No plugin serves the path.', status: 404 },
  HTTP_METHOD_NOT_ALLOWED: { message: 'The path exists, but not with this method.', status: 405 },
  HTTP_REQUEST_TIMEOUT: { message: 'The request did not arrive in time.', status: 408 },
  HTTP_PATH_TOO_LONG: { message: 'The path and query are longer than the limit.', status: 414 },
  HTTP_HEADERS_TOO_LARGE: { message: 'The headers are larger than 16 KiB.', status: 431 },
  HTTP_REFUSED: { message: 'A raw route rejected the request with an error without a code.', status: 400 },
  HTTP_INTERNAL: { message: 'A raw route failed; the log has the cause under the request id.', status: 500 },
  HTTP_STARTING: { message: 'The listener is open, but its routes are not ready yet.', status: 503 }
})
