import type { ServerResponse } from 'node:http'
import type { Exchange } from '../exchange.ts'

/** Route of the http plugin itself, such as `/health`, for load balancers, monitoring and browsers. */
export interface BuiltIn {
  readonly path: string
  /** True if the route needs no token. */
  readonly open: boolean
  /** True if only the main listener serves it. */
  readonly mainOnly: boolean
  /** True for files of the API page, which other listeners may have too. */
  readonly isApiPage?: boolean
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
