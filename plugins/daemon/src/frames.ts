import { defined, errorDocs, errorMessage, isSvcError, parseStrictJson, type SvcError } from '@svc/plugin-sdk'
import { daemonErrors } from './errors.ts'

/** Frame dialect of a peer: JSON-RPC 2.0, or the original `{id, method, params}` -> `{id, payload}`. */
export type Dialect = 'rpc2' | 'native'

export type FrameId = string | number | null

export interface Request {
  readonly dialect: Dialect
  /** Request id; undefined for a notification, which has no response. */
  readonly id: FrameId | undefined
  readonly method: string
  readonly params: unknown
  /** W3C trace context. */
  readonly traceparent?: string
  /** Whether the client requested progress. */
  readonly progress?: true
}

/** Invalid element of a line, with the id for its error. */
export interface Malformed {
  readonly dialect: Dialect
  readonly id: FrameId
  readonly error: SvcError
}

export type Element = Request | Malformed
export type RpcFrame =
  | { readonly batch: false; readonly element: Element }
  | { readonly batch: true; readonly elements: readonly Element[] }

export function isMalformed(element: Element): element is Malformed {
  return 'error' in element
}

/** UTF-8 decoder that keeps a byte order mark, which the JSON parser then rejects. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Response id in the original dialect if the request id cannot be read. */
const NATIVE_NO_ID = '0'

/**
 * Parses a line. Returns null for a blank line. `spoken`: dialect of the connection, for lines that do not show theirs.
 */
export function parseFrame(line: Buffer, spoken: Dialect | null): RpcFrame | null {
  let text: string
  try {
    text = UTF8.decode(line)
  } catch {
    return unreadable(line.toString('latin1'), spoken, 'DMN_NOT_UTF8', 'the line is not valid UTF-8')
  }
  if (text.trim() === '') return null
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch (error) {
    return unreadable(text, spoken, 'DMN_NOT_JSON', `the line is not strict JSON: ${errorMessage(error)}`)
  }
  if (!Array.isArray(value)) return { batch: false, element: parseElement(value, spoken) }
  if (value.length === 0) {
    return single({ dialect: 'rpc2', id: null, error: daemonErrors.create('DMN_FRAME_INVALID', 'the batch is empty') })
  }
  return { batch: true, elements: value.map(each => parseElement(each, 'rpc2', true)) }
}

export function tooLong(limit: number, spoken: Dialect | null): RpcFrame {
  const error = daemonErrors.create(
    'DMN_LINE_TOO_LONG',
    `the line is longer than the limit of ${limit} bytes and was dropped`,
    {
      hint: 'raise plugins.daemon.max_line_bytes'
    }
  )
  return single(malformed(error, spoken ?? 'rpc2'))
}

function unreadable(
  text: string,
  spoken: Dialect | null,
  code: 'DMN_NOT_UTF8' | 'DMN_NOT_JSON',
  message: string
): RpcFrame {
  return single(malformed(daemonErrors.create(code, message), guessDialect(text, spoken)))
}

function single(element: Element): RpcFrame {
  return { batch: false, element }
}

function malformed(error: SvcError, dialect: Dialect, id?: FrameId): Malformed {
  return { dialect, id: id ?? (dialect === 'native' ? NATIVE_NO_ID : null), error }
}

/** Guesses the dialect of an invalid line, from a `jsonrpc` member, the dialect of the connection, or its first member. */
function guessDialect(text: string, spoken: Dialect | null): Dialect {
  if (text.includes('"jsonrpc"')) return 'rpc2'
  return spoken ?? (/^\s*\{\s*"(id|method|params)"/.test(text) ? 'native' : 'rpc2')
}

function parseElement(value: unknown, spoken: Dialect | null, inBatch = false): Element {
  const invalid = (reason: string, dialect: Dialect, id?: FrameId): Malformed =>
    malformed(daemonErrors.create('DMN_FRAME_INVALID', `the request is invalid: ${reason}`), dialect, id)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return invalid('it is not an object', spoken ?? 'rpc2')
  }
  const { jsonrpc, id, method, params, traceparent, progress } = value as Record<string, unknown>
  const dialect: Dialect = jsonrpc === undefined && !inBatch ? 'native' : 'rpc2'
  if (dialect === 'rpc2' && jsonrpc !== '2.0')
    return invalid('jsonrpc must be "2.0"', dialect, isId(id) ? id : undefined)
  if (id !== undefined && !isId(id)) return invalid('id must be a string, a number or null', dialect)
  if (typeof method !== 'string') return invalid('method must be a string', dialect, id)
  const notification = id === undefined && (dialect === 'rpc2' || method.startsWith('$/'))
  if (id === undefined && !notification) return invalid('id is missing', dialect)
  return {
    ...{ dialect, id, method, params },
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
    ...(progress === true ? { progress } : {})
  }
}

function isId(value: unknown): value is FrameId {
  return value === null || typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

/** Dialect and id of a response. */
interface FrameTarget {
  readonly dialect: Dialect
  readonly id?: FrameId | undefined
}

/** Returns the response frame with a result. */
export function resultFrame({ dialect, id = null }: FrameTarget, value: unknown): object {
  const result = value === undefined ? null : value
  return dialect === 'rpc2' ? { jsonrpc: '2.0', id, result } : { id, payload: { type: 'result', value: result } }
}

/** Returns the response frame with an error. `data` contains the stable code and further data for programs. */
export function errorFrame({ dialect, id = null }: FrameTarget, error: unknown): object {
  const message = errorMessage(error)
  const data = isSvcError(error) ? errorData(error) : { code: 'OPR_FAILED', status: 500 }
  return dialect === 'rpc2'
    ? { jsonrpc: '2.0', id, error: { code: RPC_CODES[data.code] ?? -32_000, message, data } }
    : { id, payload: { type: 'error', message, code: 1, data } }
}

const RPC_CODES: Readonly<Record<string, number>> = {
  DMN_NOT_JSON: -32_700,
  DMN_NOT_UTF8: -32_700,
  DMN_FRAME_INVALID: -32_600,
  DMN_LINE_TOO_LONG: -32_600,
  DMN_HTTP_CLIENT: -32_600,
  DMN_METHOD_UNKNOWN: -32_601,
  DMN_PARAMS_INVALID: -32_602,
  OPR_INPUT_INVALID: -32_602
}

function errorData(error: SvcError): {
  code: string
  status: number
  hint?: string
  details?: unknown
  docs?: string
} {
  const { code, status, hint, data } = error
  return defined({ code, status, hint, details: data, docs: errorDocs(error) })
}

/** Returns the frame for an event of a running call. */
export function eventFrame({ dialect, id }: FrameTarget, event: unknown): object {
  return dialect === 'rpc2'
    ? { jsonrpc: '2.0', method: '$/event', params: { id, event } }
    : { id, payload: { type: 'chunk', value: event } }
}

export function progressFrame(
  { dialect, id }: FrameTarget,
  progress: { readonly done: number; readonly total?: number; readonly message?: string }
): object {
  return dialect === 'rpc2'
    ? { jsonrpc: '2.0', method: '$/progress', params: { id, ...progress } }
    : { id, payload: { type: 'progress', ...progress } }
}
