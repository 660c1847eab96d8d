import { hook, type Principal } from '@svc/plugin-sdk'

export interface FinishedRequest {
  readonly requestId: string
  readonly method: string
  /** Without the query, which may hold secrets. */
  readonly path: string
  /** Pattern of the route; null if no route matched. */
  readonly route: string | null
  /** Plugin of the route; null if no route matched. */
  readonly plugin: string | null
  /** 499: the client disconnected first. */
  readonly status: number
  readonly durationMs: number
  readonly principal: Principal
}

/** After an HTTP response was sent, or the client disconnected. */
export const requestFinished = hook<[FinishedRequest]>('http.request-finished', 'parallel', {
  onError: 'skip',
  summary: 'After an HTTP response was sent, or the client disconnected.',
  payload: {
    requestId: 'id of the request',
    method: 'HTTP method',
    path: 'path without the query',
    route: 'pattern of the route; null if no route matched',
    plugin: 'plugin of the route; null if no route matched',
    status: 'HTTP status; 499: the client disconnected first',
    durationMs: 'milliseconds since the request headers arrived',
    principal: 'caller: id, role, scopes'
  }
})
