import type { ConsoleState, ErrorInfo, OperationInfo, SessionInfo } from './protocol.ts'
import { consoleState, session, unreachable } from './state.ts'

const TOKEN = 'svc-token'

/** Half of the sign-in that only pages of this port can read; the other half is a cookie. */
export function storedToken(): string | null {
  return localStorage.getItem(TOKEN)
}

/** Failed request: with the code, hint and request id of the server's error. */
export class CallError extends Error {
  readonly code: string
  readonly hint: string | undefined
  readonly data: unknown
  readonly requestId: string | undefined
  readonly status: number

  constructor(error: ErrorInfo, status: number) {
    super(error.message)
    this.name = 'CallError'
    this.code = error.code
    this.hint = error.hint
    this.data = error.data
    this.requestId = error.request_id
    this.status = status
  }
}

interface RequestOptions {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

async function send(path: string, { method = 'GET', body, headers, signal }: RequestOptions = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(`/ui/api/${path}`, {
      method,
      headers: {
        'x-svc-token': storedToken() ?? '',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal })
    })
  } catch (error) {
    if (signal?.aborted === true) throw error
    unreachable.value += 1
    throw new CallError({ code: 'UNREACHABLE', message: 'svc does not answer', hint: 'check that svc serve runs' }, 0)
  }
  if (response.ok) return response
  const error = await errorOf(response)
  if (response.status === 401 && path !== 'session') session.value = null
  throw error
}

async function errorOf(response: Response): Promise<CallError> {
  const text = await response.text()
  try {
    const { error } = JSON.parse(text) as { error: ErrorInfo }
    return new CallError(error, response.status)
  } catch {
    return new CallError(
      { code: 'HTTP_ERROR', message: `the server answered with status ${response.status}` },
      response.status
    )
  }
}

/** Exchanges a sign-in code for a session of this browser. Throws {@link CallError}. */
export async function signIn(code: string): Promise<void> {
  const response = await send('session', { method: 'POST', body: { code } })
  const { token, session: found } = (await response.json()) as { token: string; session: SessionInfo }
  localStorage.setItem(TOKEN, token)
  session.value = found
}

/** Loads the session of this browser. Returns false if it has none. */
export async function resumeSession(): Promise<boolean> {
  if (storedToken() === null) return false
  try {
    const response = await send('session')
    session.value = ((await response.json()) as { session: SessionInfo }).session
    return true
  } catch (error) {
    if (error instanceof CallError && (error.status === 401 || error.status === 403)) return false
    throw error
  }
}

export async function signOut(): Promise<void> {
  await send('session', { method: 'DELETE' }).catch(() => {})
  localStorage.removeItem(TOKEN)
  session.value = null
}

export async function listSessions(): Promise<readonly SessionInfo[]> {
  return ((await (await send('sessions')).json()) as { sessions: SessionInfo[] }).sessions
}

export async function revokeSession(id: string): Promise<void> {
  await send(`sessions/${encodeURIComponent(id)}`, { method: 'DELETE' })
}

export async function loadConsole(): Promise<void> {
  consoleState.value = (await (await send('console')).json()) as ConsoleState
}

const descriptors = new Map<string, Promise<OperationInfo>>()
let describedGeneration = 0

/** Returns an operation's schemas. Cached until the generation changes. */
export function describe(operation: string): Promise<OperationInfo> {
  const generation = consoleState.value?.generation ?? 0
  if (generation !== describedGeneration) descriptors.clear()
  describedGeneration = generation
  let found = descriptors.get(operation)
  if (found === undefined) {
    found = send(`operations/${encodeURIComponent(operation)}`).then(
      response => response.json() as Promise<OperationInfo>
    )
    found.catch(() => descriptors.delete(operation))
    descriptors.set(operation, found)
  }
  return found
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Set once the person has confirmed a destructive operation. */
  readonly confirmed?: boolean | undefined
  readonly onEvent?: ((event: unknown) => void) | undefined
  readonly onProgress?: ((progress: { done: number; total?: number; message?: string }) => void) | undefined
}

/** Result of a call with the id under which svc logged it. */
export interface CallResult {
  readonly output: unknown
  readonly requestId: string
}

/** Calls an operation. Throws {@link CallError}. */
export async function callWithId(
  operation: string,
  input: unknown,
  { signal, confirmed, onEvent, onProgress }: CallOptions = {}
): Promise<CallResult> {
  const streams = onEvent !== undefined || onProgress !== undefined
  const response = await send(`call/${encodeURIComponent(operation)}`, {
    method: 'POST',
    body: input ?? {},
    signal,
    headers: {
      ...(confirmed === true ? { 'x-svc-confirm': operation } : {}),
      ...(streams ? { accept: 'text/event-stream' } : {})
    }
  })
  const requestId = response.headers.get('x-request-id') ?? ''
  if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream'))
    return { output: await response.json(), requestId }
  for await (const { event, data } of serverEvents(response)) {
    if (event === 'event') onEvent?.(data)
    else if (event === 'progress') onProgress?.(data as { done: number })
    else if (event === 'result') return { output: data, requestId }
    else if (event === 'error') throw new CallError(data as ErrorInfo, 200)
  }
  throw new CallError({ code: 'STREAM_ENDED', message: 'the answer ended before its result', request_id: requestId }, 0)
}

/** Calls an operation and returns its output. Throws {@link CallError}. */
export async function call(operation: string, input: unknown, options?: CallOptions): Promise<unknown> {
  return (await callWithId(operation, input, options)).output
}

interface ServerEvent {
  readonly event: string
  readonly data: unknown
}

/** Reads an event stream (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
async function* serverEvents(response: Response): AsyncGenerator<ServerEvent> {
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream() as never).getReader()
  let pending = ''
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      pending += chunk.value as unknown as string
      const blocks = pending.split(/\r?\n\r?\n/)
      pending = blocks.pop() ?? ''
      for (const block of blocks) {
        const lines = block.split(/\r?\n/)
        const field = (name: string): string[] =>
          lines.filter(line => line.startsWith(`${name}:`)).map(line => line.slice(name.length + 1).replace(/^ /, ''))
        const data = field('data').join('\n')
        if (data !== '') yield { event: field('event')[0] ?? 'message', data: JSON.parse(data) }
      }
    }
  } finally {
    void reader.cancel().catch(() => {})
  }
}
