import type { ServerResponse } from 'node:http'
import type { Exchange } from '../exchange.ts'

/** A route that the http plugin answers itself. Its path is known to every load balancer, monitor or browser. */
export interface BuiltIn {
  readonly path: string
  /** True if it answers without a token. */
  readonly open: boolean
  /** True if only the main listener serves it. */
  readonly mainOnly: boolean
  answer(exchange: Exchange): BuiltInResponse | Promise<BuiltInResponse>
}

export interface BuiltInResponse {
  readonly status?: number
  readonly type: string
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

export function writeResponse(
  response: ServerResponse,
  { status = 200, type, body, headers = {} }: BuiltInResponse
): void {
  response.statusCode = status
  for (const name in headers) response.setHeader(name, headers[name] as string)
  if (status !== 304) {
    response.setHeader('content-type', type)
    response.setHeader('content-length', Buffer.byteLength(body))
  }
  response.end(status === 304 ? undefined : body)
}
