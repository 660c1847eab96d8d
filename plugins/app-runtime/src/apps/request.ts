import { isUtf8 } from 'node:buffer'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { HttpAddress } from '@svc/contracts'
import { type Call, errorMessage, type Handler, type InputOf, limitedSignal } from '@svc/plugin-sdk'
import { appErrors } from '../errors.ts'
import type { appRequest } from './operations.ts'

type Input = InputOf<typeof appRequest>
type Output = Awaited<ReturnType<Handler<typeof appRequest>>>

const MAX_BODY_BYTES = 262_144

/** Milliseconds after which a response that has not ended is cut. */
const MAX_MS = 10_000

/** Headers that this client sets itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade'
])

interface Sent {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}

/**
 * Sends a request to the listener of a program, over a socket, so that it is answered and recorded like any other. Only
 * the path comes from the input, never the address. Throws `APP_REQUEST_INVALID` and `APP_REQUEST_FAILED`.
 */
export async function requestApp(
  { host, port }: Pick<HttpAddress, 'host' | 'port'>,
  input: Input,
  call: Pick<Call, 'signal' | 'traceId' | 'spanId'>
): Promise<Output> {
  const { path, headers, body } = sentOf(input)
  const started = performance.now()
  const signal = limitedSignal(call.signal, MAX_MS)
  const response = await responseOf(
    {
      host,
      port,
      method: input.method,
      path,
      // The flag 01 asks for all spans of this request.
      headers: { traceparent: `00-${call.traceId}-${call.spanId}-01`, ...headers },
      signal,
      agent: false
    },
    body
  )
  const { bytes, cut } = await bodyOf(response, signal)
  const ms = Math.round((performance.now() - started) * 100) / 100
  const isText = isUtf8(bytes)
  const status = response.statusCode ?? 0
  const requestId = headerText(response.headers['x-request-id'])
  const text = isText ? bytes.toString('utf8') : bytes.toString('base64')
  return {
    status,
    headers: Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, headerText(value)])),
    body: text,
    encoding: isText ? 'text' : 'base64',
    cut,
    ms,
    request_id: requestId,
    text: `${status} in ${ms} ms, request ${requestId}\n${text}${cut ? '\n(the body is incomplete)' : ''}`
  }
}

function headerText(value: string | readonly string[] | undefined): string {
  return typeof value === 'string' ? value : (value ?? []).join(', ')
}

function sentOf({ method, path, query, headers = {}, body }: Input): Sent {
  if (!path.startsWith('/') || !PATH.test(path)) {
    throw appErrors.create('APP_REQUEST_INVALID', `the path ${JSON.stringify(path.slice(0, 100))} is not accepted`, {
      hint: 'begin with / and encode spaces and other characters, as in a URL: /tasks/a%20b'
    })
  }
  const own = Object.keys(headers).find(name => OWN_HEADERS.has(name.toLowerCase()))
  if (own !== undefined) {
    throw appErrors.create('APP_REQUEST_INVALID', `the header ${own} is set by the client`, { hint: 'leave it out' })
  }
  const isSent = body !== undefined && body !== null
  if (isSent && (method === 'GET' || method === 'HEAD')) {
    throw appErrors.create('APP_REQUEST_INVALID', `a ${method} request has no body`, {
      hint: 'pass the values in query, or choose another method'
    })
  }
  const text = isSent ? (typeof body === 'string' ? body : JSON.stringify(body)) : null
  const type = typeof body === 'string' && !isJson(body) ? 'text/plain; charset=utf-8' : 'application/json'
  const hasType = Object.keys(headers).some(name => name.toLowerCase() === 'content-type')
  return {
    path: withQuery(path, query),
    headers: text === null || hasType ? headers : { 'content-type': type, ...headers },
    body: text
  }
}

/** Characters of a path and query in a request line (RFC 3986). */
const PATH = /^[\w\-.~!$&'()*+,;=:@/%?[\]|]+$/

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function withQuery(path: string, query: Readonly<Record<string, unknown>> = {}): string {
  const entries = Object.entries(query).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value)
  ])
  if (entries.length === 0) return path
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(entries)}`
}

function responseOf(
  options: Parameters<typeof httpRequest>[1] & object,
  body: string | null
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void => {
      const isInvalid = (cause as { readonly code?: string }).code?.startsWith('ERR_INVALID') === true
      const code = isInvalid ? 'APP_REQUEST_INVALID' : 'APP_REQUEST_FAILED'
      const text = (cause as Error).name === 'AbortError' ? 'no response within 10 seconds' : errorMessage(cause)
      reject(appErrors.create(code, `${options.method} ${options.path}: ${text}`, { cause }))
    }
    try {
      const sent = httpRequest(options as Parameters<typeof httpRequest>[0])
      sent.once('response', resolve)
      sent.once('error', refuse)
      // A switch of protocols is not answered here.
      sent.once('upgrade', (_, socket) => {
        socket.destroy()
        refuse(new Error('the listener switched protocols'))
      })
      sent.end(body ?? undefined)
    } catch (thrown) {
      refuse(thrown)
    }
  })
}

/** Reads the body up to its limit, or until the signal is aborted. */
function bodyOf(
  response: IncomingMessage,
  signal: AbortSignal
): Promise<{ readonly bytes: Buffer; readonly cut: boolean }> {
  return new Promise(resolve => {
    const chunks: Buffer[] = []
    let length = 0
    const end = (cut: boolean): void => {
      response.destroy()
      const bytes = Buffer.concat(chunks).subarray(0, MAX_BODY_BYTES)
      // A cut may be inside a character.
      resolve({ bytes: cut ? wholeCharacters(bytes) : bytes, cut })
    }
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > MAX_BODY_BYTES) end(true)
    })
    response.once('end', () => end(false))
    response.once('error', () => end(true))
    response.once('aborted', () => end(true))
    if (signal.aborted) end(true)
  })
}

/** Removes an incomplete UTF-8 character from the end. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let length = bytes.length; length > bytes.length - 4 && length >= 0; length--) {
    const part = bytes.subarray(0, length)
    if (isUtf8(part)) return part
  }
  return bytes
}
