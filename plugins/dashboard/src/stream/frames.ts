import { defined, isSvcError, parseStrictJson } from '@svc/plugin-sdk'
import { dashboardErrors } from '../errors.ts'

/** Message from a page. */
export type ClientFrame =
  | { readonly t: 'hello'; readonly token: string }
  | {
      readonly t: 'sub'
      readonly id: number
      readonly operation: string
      readonly input: Readonly<Record<string, unknown>>
      /** Cursor of the last delta that the page has. */
      readonly since?: string
    }
  | { readonly t: 'unsub'; readonly id: number }
  | { readonly t: 'ack'; readonly id: number; readonly seq: number }
  | { readonly t: 'visible'; readonly visible: boolean }
  | { readonly t: 'ping' }

/** Longest id of an operation. Errors repeat it. */
const MAX_ID_CHARS = 256

/** Parses a message of a page. Throws `DSH_FRAME_INVALID`. */
export function parseFrame(text: string): ClientFrame {
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch {
    throw invalid('it is not valid JSON')
  }
  const frame = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
  const { t, id, operation, input = {}, since, seq, token, visible } = frame
  switch (t) {
    case 'hello':
      if (typeof token === 'string') return { t, token }
      throw invalid('hello needs a token')
    case 'sub':
      if (isIndex(id) && isId(operation) && isObject(input) && isCursor(since))
        return { t, id, operation, input, ...defined({ since }) }
      throw invalid('sub needs an id, an operation, an object as input, and may have a text as since')
    case 'unsub':
      if (isIndex(id)) return { t, id }
      throw invalid('unsub needs an id')
    case 'ack':
      if (isIndex(id) && isIndex(seq)) return { t, id, seq }
      throw invalid('ack needs an id and a seq')
    case 'visible':
      if (typeof visible === 'boolean') return { t, visible }
      throw invalid('visible needs a boolean')
    case 'ping':
      return { t }
    default:
      throw invalid('it is none of hello, sub, unsub, ack, visible, ping')
  }
}

/** Message to a page, as JSON. */
export const serverFrame = {
  ready: (build: string, generation: number): string => JSON.stringify({ t: 'ready', build, generation }),
  /** Answer to a ping: pages cannot see the pings of the websocket protocol. */
  pong: (): string => '{"t":"pong"}',
  generation: (generation: number): string => JSON.stringify({ t: 'gen', generation }),
  /** `json`: the value, already as JSON. */
  data: (id: number, seq: number, kind: 'value' | 'delta', json: string): string =>
    `{"t":"data","id":${id},"seq":${seq},"${kind}":${json}}`,
  error: (id: number, error: unknown): string => JSON.stringify({ t: 'error', id, error: shownError(error) })
}

/** Returns an error as a page may see it. */
export function shownError(error: unknown): {
  readonly code: string
  readonly message: string
  readonly hint?: string
} {
  if (!isSvcError(error))
    return { code: 'HTTP_INTERNAL', message: 'the operation failed inside the server; see its log' }
  const { code, message, hint } = error
  return { code, message, ...defined({ hint }) }
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function isId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_ID_CHARS
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCursor(value: unknown): value is string | undefined {
  return value === undefined || (typeof value === 'string' && value.length <= 64)
}

function invalid(why: string): Error {
  return dashboardErrors.create('DSH_FRAME_INVALID', `a message on the stream is invalid: ${why}`)
}
