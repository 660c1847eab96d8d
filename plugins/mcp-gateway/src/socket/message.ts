import { defined, errorMessage, parseStrictJson } from '@svc/plugin-sdk'
import { isObject, type ToolCallBody, toolCallOf } from '../json-body.ts'

/** Id of a message, which is repeated in the reply. */
export type MessageId = string | number

export type ClientMessage = { readonly id?: MessageId } & (
  | { readonly type: 'list_tools' }
  | { readonly type: 'call_tool'; readonly call: ToolCallBody }
  | { readonly type: 'auth'; readonly token: string }
)

/** Error for an invalid message, with the type of the reply. */
export interface BadMessage {
  readonly id?: MessageId
  readonly type: 'error' | 'call_tool_result'
  readonly error: string
}

/** Parses a message; returns an error for an invalid one. */
export function readMessage(text: string): ClientMessage | BadMessage {
  let read: unknown
  try {
    read = parseStrictJson(text)
  } catch (error) {
    return { type: 'error', error: `invalid websocket payload: ${errorMessage(error)}` }
  }
  if (!isObject(read)) return { type: 'error', error: 'invalid websocket payload: an object is expected' }
  const id = typeof read.id === 'string' || typeof read.id === 'number' ? { id: read.id } : {}
  const { type, args } = read
  if (type === 'list_tools') return { ...id, type }
  if (type === 'auth') {
    const token = isObject(args) && typeof args.token === 'string' ? args.token : ''
    return { ...id, type, token }
  }
  if (type === 'call_tool') {
    const call = toolCallOf(read)
    return typeof call === 'string' ? { ...id, type: 'call_tool_result', error: call } : { ...id, type, call }
  }
  if (typeof type !== 'string')
    return { ...id, type: 'error', error: 'invalid websocket payload: type has to be a string' }
  return { ...id, type: 'error', error: `unsupported message type: ${type.slice(0, MAX_SHOWN_CHARACTERS)}` }
}

/** Maximum length of client text in an error. */
const MAX_SHOWN_CHARACTERS = 64

export function isBad(message: ClientMessage | BadMessage): message is BadMessage {
  return 'error' in message
}

/** Builds a message of the gateway: a reply or an event. */
export function serverMessage(
  id: MessageId | undefined,
  type: string,
  success: boolean,
  data: unknown,
  error?: string
): string {
  return JSON.stringify({
    ...defined({ id }),
    type,
    success,
    is_error: !success,
    data,
    ...defined({ error })
  })
}
