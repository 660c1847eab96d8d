import {
  A2A_CONTENT_TYPE,
  AgentCard,
  ListTaskPushNotificationConfigsResponse,
  ListTasksResponse,
  SendMessageRequest,
  SendMessageResponse,
  StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
  taskStateFromJSON
} from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import { validateVersion } from '@a2a-js/sdk/server'
import { type HttpExchange, type HttpHandlerRoute, parseJsonBody } from '@svc/contracts'
import { isSvcError, type Logger } from '@svc/plugin-sdk'
import { a2aServerErrors } from '../errors.ts'
import type { Access } from './access.ts'
import { A2A_PATH } from './agent-card.ts'
import type { A2aCall } from './call.ts'
import { type StreamedEvent, writeEvents } from './event-stream.ts'
import { malformed } from './input.ts'
import { retryHeaders } from './json-rpc.ts'
import type { A2aRequestHandler } from './request-handler.ts'
import { callOf, extensionHeaders, isJsonBody, MAX_REQUEST_BYTES } from './request-parts.ts'
import { codeOf, httpStatusOf, restBodyOf, toA2aError } from './wire-errors.ts'

export interface RestParts {
  readonly handler: A2aRequestHandler
  readonly access: Access
  readonly log: Logger
}

interface RestRequest {
  readonly call: A2aCall
  readonly params: HttpExchange['params']
  readonly query: URLSearchParams
  /** Object in the body; empty without a body. */
  readonly body: Readonly<Record<string, unknown>>
}

/** Answer of a route: a JSON value with its status, or a stream. */
type Answer = { readonly status: number; readonly json?: unknown } | { readonly stream: AsyncIterator<StreamResponse> }
type Operation = (request: RestRequest) => Promise<Answer>

const TENANT = ''
const ACTION = /^(.+):(cancel|subscribe)$/

/** Routes of the HTTP+JSON binding. The SDK has them for Express only. */
export function restRoutes(parts: RestParts): readonly HttpHandlerRoute[] {
  const { handler } = parts
  const route = (method: 'GET' | 'POST' | 'DELETE', path: string, summary: string, run: Operation) => ({
    method,
    path: A2A_PATH + path,
    summary,
    handle: (exchange: HttpExchange) => serve(exchange, parts, run)
  })
  const subscribe = (id: string, call: A2aCall): Answer => ({
    stream: handler.resubscribe({ id, tenant: TENANT }, call)[Symbol.asyncIterator]()
  })
  return [
    // The parameter is the rest of the path with its colon: a path with an escaped colon would be taken for a parameter.
    route(
      'POST',
      '/message:action',
      'Send a message with :send, or with :stream to follow its task (A2A)',
      async request => {
        const { call, params, body } = request
        if (params.action === ':stream')
          return { stream: handler.sendMessageStream(decode(SendMessageRequest, body), call)[Symbol.asyncIterator]() }
        if (params.action !== ':send') throw noSuchPath('/message:send and /message:stream')
        const task = await handler.sendMessage(decode(SendMessageRequest, body), call)
        return { status: 200, json: SendMessageResponse.toJSON({ payload: { $case: 'task', value: task } }) }
      }
    ),
    route('GET', '/tasks', 'List tasks (A2A)', async ({ call, query }) => {
      const includeArtifacts = flag(query, 'includeArtifacts')
      const request = {
        tenant: query.get('tenant') ?? TENANT,
        contextId: query.get('contextId') ?? '',
        status: stateOf(query.get('status')),
        pageSize: whole(query, 'pageSize'),
        pageToken: query.get('pageToken') ?? '',
        historyLength: whole(query, 'historyLength'),
        statusTimestampAfter: query.get('statusTimestampAfter') ?? undefined,
        includeArtifacts
      }
      const answer = await handler.listTasks(request, call)
      const tasks = answer.tasks.map(task => ({
        ...(Task.toJSON(task) as object),
        ...(includeArtifacts && task.artifacts.length === 0 ? { artifacts: [] } : null)
      }))
      const { nextPageToken, pageSize, totalSize } = answer
      return {
        status: 200,
        json: { ...(ListTasksResponse.toJSON(answer) as object), tasks, nextPageToken, pageSize, totalSize }
      }
    }),
    route('GET', '/tasks/:task', 'Read a task, or subscribe to it with :subscribe (A2A)', async request => {
      const { call, params, query } = request
      const [, id, action] = ACTION.exec(params.task ?? '') ?? []
      if (id !== undefined && action === 'subscribe') return subscribe(id, call)
      const historyLength = whole(query, 'historyLength')
      const task = await handler.getTask(
        { id: params.task ?? '', tenant: query.get('tenant') ?? TENANT, historyLength },
        call
      )
      return { status: 200, json: Task.toJSON(task) }
    }),
    route(
      'POST',
      '/tasks/:task',
      'Cancel a task with :cancel, or subscribe to it with :subscribe (A2A)',
      async request => {
        const { call, params, body } = request
        const [, id, action] = ACTION.exec(params.task ?? '') ?? []
        if (id === undefined) throw noSuchPath('/tasks/ID:cancel and /tasks/ID:subscribe')
        if (action === 'subscribe') return subscribe(id, call)
        const metadata = typeof body.metadata === 'object' && body.metadata !== null ? { ...body.metadata } : undefined
        return {
          status: 200,
          json: Task.toJSON(await handler.cancelTask({ id, tenant: tenantOf(body), metadata }, call))
        }
      }
    ),
    route(
      'POST',
      '/tasks/:task/pushNotificationConfigs',
      'Add a webhook to a task (A2A)',
      async ({ call, params, body }) => {
        const config = decode(TaskPushNotificationConfig, { ...body, taskId: params.task })
        const created = await handler.createTaskPushNotificationConfig(config, call)
        return { status: 201, json: TaskPushNotificationConfig.toJSON(created) }
      }
    ),
    route(
      'GET',
      '/tasks/:task/pushNotificationConfigs',
      'List the webhooks of a task (A2A)',
      async ({ call, params, query }) => {
        const pageSize = whole(query, 'pageSize') ?? 0
        const request = { taskId: params.task ?? '', tenant: TENANT, pageSize, pageToken: query.get('pageToken') ?? '' }
        const answer = await handler.listTaskPushNotificationConfigs(request, call)
        return { status: 200, json: ListTaskPushNotificationConfigsResponse.toJSON(answer) }
      }
    ),
    route('GET', '/tasks/:task/pushNotificationConfigs/:config', 'Read a webhook (A2A)', async ({ call, params }) => {
      const request = { taskId: params.task ?? '', id: params.config ?? '', tenant: TENANT }
      const config = await handler.getTaskPushNotificationConfig(request, call)
      return { status: 200, json: TaskPushNotificationConfig.toJSON(config) }
    }),
    route(
      'DELETE',
      '/tasks/:task/pushNotificationConfigs/:config',
      'Remove a webhook (A2A)',
      async ({ call, params }) => {
        const request = { taskId: params.task ?? '', id: params.config ?? '', tenant: TENANT }
        await handler.deleteTaskPushNotificationConfig(request, call)
        return { status: 204 }
      }
    ),
    route('GET', '/extendedAgentCard', 'Read the extended card of the agent (A2A)', async ({ call, query }) => {
      const tenant = query.get('tenant') ?? TENANT
      return { status: 200, json: AgentCard.toJSON(await handler.getAuthenticatedExtendedAgentCard({ tenant }, call)) }
    })
  ]
}

function serve(exchange: HttpExchange, parts: RestParts, run: Operation): void {
  begin(exchange, parts).then(
    call => {
      exchange.body(bytes => {
        answer(exchange, call, bytes, parts, run).catch(error => exchange.fail(error))
      }, MAX_REQUEST_BYTES)
    },
    error => refuse(exchange, error, parts.log)
  )
}

async function begin(exchange: HttpExchange, { access }: RestParts): Promise<A2aCall> {
  const call = callOf(exchange, await access.identify(exchange))
  if (!isJsonBody(exchange.request, true)) throw notJson(exchange)
  return call
}

async function answer(
  exchange: HttpExchange,
  call: A2aCall,
  bytes: Buffer,
  { handler, log }: RestParts,
  run: Operation
): Promise<void> {
  try {
    validateVersion(call.requestedVersion, await handler.getAgentCard(), 'HTTP+JSON')
    const query = new URLSearchParams(exchange.query)
    const result = await run({ call, params: exchange.params, query, body: bodyOf(bytes) })
    if ('stream' in result) {
      // An error before the first event is answered without a stream.
      const first = await result.stream.next()
      await writeEvents(exchange, extensionHeaders(call), events(first, result.stream, call, exchange, log))
    } else {
      const { status, json } = result
      const text = json === undefined ? '' : JSON.stringify(json)
      exchange.send(status, A2A_CONTENT_TYPE, text, extensionHeaders(call))
    }
  } catch (error) {
    refuse(exchange, error, log)
  }
}

async function* events(
  first: IteratorResult<StreamResponse>,
  rest: AsyncIterator<StreamResponse>,
  call: A2aCall,
  exchange: HttpExchange,
  log: Logger
): AsyncGenerator<StreamedEvent> {
  try {
    for (let next = first; next.done !== true; next = await rest.next())
      yield { data: JSON.stringify(StreamResponse.toJSON(next.value)), id: call.streamed, type: null }
  } catch (error) {
    const converted = toA2aError(error, log)
    exchange.caller.recordError?.(codeOf(converted))
    yield { data: restBodyOf(converted, httpStatusOf(converted)), id: null, type: 'error' }
  } finally {
    // The client may have disconnected.
    await rest.return?.()
  }
}

function refuse(exchange: HttpExchange, error: unknown, log: Logger): void {
  const converted = toA2aError(error, log)
  const status = httpStatusOf(converted)
  exchange.caller.recordError?.(codeOf(converted))
  exchange.send(status, A2A_CONTENT_TYPE, restBodyOf(converted, status), retryHeaders(converted))
}

/** Decodes a body. Throws `RequestMalformedError`: the SDK fails for some wrong forms, such as null in a list. */
function decode<A>(codec: { fromJSON(body: object): A }, body: object): A {
  try {
    return codec.fromJSON(body)
  } catch (cause) {
    throw new RequestMalformedError({ message: 'a field of the body has a wrong form', cause })
  }
}

function bodyOf(bytes: Buffer): RestRequest['body'] {
  let value: unknown
  try {
    value = parseJsonBody(bytes) ?? {}
  } catch (error) {
    if (isSvcError(error)) throw malformed(error.message)
    throw error
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as RestRequest['body']
  throw malformed('the body is not a JSON object')
}

function noSuchPath(paths: string): Error {
  return a2aServerErrors.create('A2S_NOT_FOUND', `there is no such path; there are ${paths}`)
}

function tenantOf({ tenant }: RestRequest['body']): string {
  return typeof tenant === 'string' ? tenant : TENANT
}

function stateOf(text: string | null): TaskState {
  if (text === null || text === '') return TaskState.TASK_STATE_UNSPECIFIED
  return taskStateFromJSON(/^\d+$/.test(text) ? Number(text) : text)
}

function whole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name)
  if (text === null || text === '') return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw malformed(`${name} must be a whole number from 0 on`)
}

function flag(query: URLSearchParams, name: string): boolean {
  const text = query.get(name)
  if (text === null || text === '' || text === 'false') return false
  if (text === 'true') return true
  throw malformed(`${name} must be true or false`)
}

function notJson({ request }: HttpExchange): Error {
  const type = String(request.headers['content-type']).slice(0, 200)
  return new ContentTypeNotSupportedError(`the body has the content type ${type}; send ${A2A_CONTENT_TYPE}`)
}
