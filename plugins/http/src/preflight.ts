import type { IncomingMessage, ServerResponse } from 'node:http'

/** Responds to OPTIONS with the allowed methods, and with CORS permission for configured origins. */
export function answerOptions(request: IncomingMessage, response: ServerResponse, allowed: readonly string[]): void {
  response.statusCode = 204
  response.setHeader('allow', allowed.join(', '))
  const { headers } = request
  if (headers['access-control-request-method'] !== undefined && response.hasHeader('access-control-allow-origin')) {
    response.setHeader('access-control-allow-methods', allowed.join(', '))
    const wanted = headers['access-control-request-headers']
    if (typeof wanted === 'string' && /^[\w\s,-]+$/.test(wanted))
      response.setHeader('access-control-allow-headers', wanted)
    response.setHeader('access-control-max-age', '600')
  }
  response.end()
}
