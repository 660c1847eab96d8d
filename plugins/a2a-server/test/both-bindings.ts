import { parseSseStream } from '@a2a-js/sdk'
import type { World } from './open-world.ts'

/** Operations by their names in JSON-RPC (JSONRPC-SVC-001). */
export type Operation =
  | 'SendMessage'
  | 'SendStreamingMessage'
  | 'GetTask'
  | 'ListTasks'
  | 'CancelTask'
  | 'SubscribeToTask'
  | 'CreateTaskPushNotificationConfig'
  | 'GetTaskPushNotificationConfig'
  | 'ListTaskPushNotificationConfigs'
  | 'DeleteTaskPushNotificationConfig'
  | 'GetExtendedAgentCard'

export type Params = Readonly<Record<string, any>>
export type Headers = Readonly<Record<string, string>>

/** The answer of an operation, the same for both bindings except for `response` and `body`. */
export interface Outcome {
  readonly response: Response
  /** Body as JSON; undefined if it is empty. */
  readonly body: any
  /** The result; undefined for an error. */
  readonly value: any
  /** The error; null for a result. `code`: of JSON-RPC, or the HTTP status. */
  readonly error: { readonly code: number; readonly message: string; readonly details: readonly any[] } | null
}

export interface Binding {
  readonly name: 'JSONRPC' | 'HTTP+JSON'
  /** Content type of the answers. */
  readonly type: string
  call(operation: Operation, params: Params, headers?: Headers): Promise<Outcome>
  /** Yields the events of a stream (HTTP_JSON-SSE-001), without the envelope. Throws if the answer is no stream. */
  stream(operation: Operation, params: Params, signal?: AbortSignal): AsyncGenerator<any>
}

/** Codes of the errors of the protocol: in JSON-RPC, and as status of HTTP. */
export const ERRORS = {
  TASK_NOT_FOUND: [-32001, 404],
  TASK_NOT_CANCELABLE: [-32002, 400],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400],
  UNSUPPORTED_OPERATION: [-32004, 400],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400],
  VERSION_NOT_SUPPORTED: [-32009, 400],
  INVALID_PARAMS: [-32602, 400]
} as const

/**
 * Method and path of each operation in the HTTP+JSON binding (HTTP_JSON-URL-001, -002). What a path does not name is in the
 * query, in camelCase (HTTP_JSON-QP-001), or in the body.
 */
const REST: Readonly<Record<Operation, readonly [string, (params: Params) => string]>> = {
  SendMessage: ['POST', () => '/message:send'],
  SendStreamingMessage: ['POST', () => '/message:stream'],
  GetTask: ['GET', ({ id, ...query }) => `/tasks/${id}${queryOf(query)}`],
  ListTasks: ['GET', query => `/tasks${queryOf(query)}`],
  CancelTask: ['POST', ({ id }) => `/tasks/${id}:cancel`],
  SubscribeToTask: ['POST', ({ id }) => `/tasks/${id}:subscribe`],
  CreateTaskPushNotificationConfig: ['POST', ({ taskId }) => `/tasks/${taskId}/pushNotificationConfigs`],
  GetTaskPushNotificationConfig: ['GET', ({ taskId, id }) => `/tasks/${taskId}/pushNotificationConfigs/${id}`],
  ListTaskPushNotificationConfigs: [
    'GET',
    ({ taskId, ...query }) => `/tasks/${taskId}/pushNotificationConfigs${queryOf(query)}`
  ],
  DeleteTaskPushNotificationConfig: ['DELETE', ({ taskId, id }) => `/tasks/${taskId}/pushNotificationConfigs/${id}`],
  GetExtendedAgentCard: ['GET', () => '/extendedAgentCard']
}

/** Returns both bindings of a server, at the URLs of its card, as a client that sends a bearer token. */
export function bothBindings({ url }: World, token: string): readonly Binding[] {
  const common = { 'a2a-version': '1.0', authorization: `Bearer ${token}` }
  const rpc = (method: Operation, params: Params, headers: Headers = {}, signal?: AbortSignal) =>
    fetch(`${url}/a2a/v1`, {
      method: 'POST',
      headers: { ...common, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 'call-1', method, params }),
      ...(signal === undefined ? null : { signal })
    })
  const rest = (operation: Operation, params: Params, headers: Headers = {}, signal?: AbortSignal) => {
    const [method, path] = REST[operation]
    return fetch(`${url}/a2a/v1${path(params)}`, {
      method,
      headers: { ...common, ...(method === 'POST' ? { 'content-type': 'application/a2a+json' } : null), ...headers },
      ...(method === 'POST' ? { body: JSON.stringify(params) } : null),
      ...(signal === undefined ? null : { signal })
    })
  }
  return [
    {
      name: 'JSONRPC',
      type: 'application/json',
      async call(operation, params, headers) {
        const response = await rpc(operation, params, headers)
        const body = await jsonOf(response)
        const { error } = body
        const failure = error === undefined ? null : { ...error, details: error.data }
        return { response, body, value: body.result, error: failure }
      },
      async *stream(operation, params, signal) {
        for await (const event of eventsOf(await rpc(operation, params, {}, signal))) yield event.result
      }
    },
    {
      name: 'HTTP+JSON',
      type: 'application/a2a+json',
      async call(operation, params, headers) {
        const response = await rest(operation, params, headers)
        const body = await jsonOf(response)
        return response.ok
          ? { response, body, value: body, error: null }
          : { response, body, value: undefined, error: { ...body.error } }
      },
      stream: async function* (operation, params, signal) {
        yield* eventsOf(await rest(operation, params, {}, signal))
      }
    }
  ]
}

/** Yields the events of a stream as JSON. Throws if the answer is no stream. */
export async function* eventsOf(response: Response): AsyncGenerator<any> {
  const type = response.headers.get('content-type')
  if (type !== 'text/event-stream') throw new Error(`no stream, but ${type}: ${await response.text()}`)
  for await (const { data } of parseSseStream(response)) yield JSON.parse(data)
}

async function jsonOf(response: Response): Promise<any> {
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text)
}

function queryOf(params: Params): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) query.set(name, String(value))
  return query.size === 0 ? '' : `?${query}`
}
