import { type Message, Role, type SendMessageRequest } from '@a2a-js/sdk'
import { ContentTypeNotSupportedError, RequestMalformedError } from '@a2a-js/sdk/errors'
import type { TaskHints } from '../tasks/event.ts'
import { MESH_EXTENSION } from '../tasks/snapshot.ts'

/** Media types of parts that tasks are made of. */
export const INPUT_MODES = ['text/plain', 'application/json']
/** Media types of results. */
export const OUTPUT_MODES = ['text/plain']

const MAX_ID_CHARS = 256
const MAX_PARTS = 256
/** Limit of an orchestrator's task description. */
const MAX_TEXT_BYTES = 131_072
const MAX_REFERENCES = 10
const PRIORITIES = ['Background', 'Normal', 'Urgent'] as const

export interface CheckedMessage {
  readonly message: Message
  readonly text: string
  readonly hints: TaskHints
}

/**
 * Checks a message and its configuration. Throws `RequestMalformedError`, or `ContentTypeNotSupportedError` for parts and
 * results in formats that agents do not handle.
 */
export function checkMessage({ message, configuration }: SendMessageRequest): CheckedMessage {
  if (message === undefined) throw malformed('message is required')
  const { messageId, contextId, taskId, referenceTaskIds } = message
  if (messageId === '') throw malformed('message.messageId is required')
  assertId('message.messageId', messageId)
  assertId('message.contextId', contextId)
  assertId('message.taskId', taskId)
  if (message.role !== Role.ROLE_USER) throw malformed('message.role must be ROLE_USER: clients send messages of users')
  if (referenceTaskIds.length > MAX_REFERENCES)
    throw malformed(`message.referenceTaskIds has ${referenceTaskIds.length} entries; the maximum is ${MAX_REFERENCES}`)
  const { historyLength, acceptedOutputModes = [] } = configuration ?? {}
  assertHistoryLength(historyLength)
  if (acceptedOutputModes.length > 0 && !acceptedOutputModes.some(acceptsText)) {
    throw new ContentTypeNotSupportedError(
      `results are text/plain, which acceptedOutputModes does not list: ${acceptedOutputModes.join(', ').slice(0, 200)}`
    )
  }
  return { message, text: textOf(message), hints: hintsOf(message.metadata) }
}

/** Throws `RequestMalformedError` unless the length is absent, or a whole number from 0 on. */
export function assertHistoryLength(historyLength: number | undefined): void {
  if (historyLength !== undefined && !(Number.isSafeInteger(historyLength) && historyLength >= 0))
    throw malformed('historyLength must be a whole number from 0 on')
}

export function malformed(message: string): Error {
  return new RequestMalformedError(message)
}

function assertId(name: string, id: string): void {
  if (id.length > MAX_ID_CHARS) throw malformed(`${name} has ${id.length} characters; the maximum is ${MAX_ID_CHARS}`)
  // Control characters separate the parts of keys.
  for (let at = 0; at < id.length; at += 1)
    if (id.charCodeAt(at) < 32) throw malformed(`${name} contains a control character`)
}

function acceptsText(mode: string): boolean {
  const type = mediaTypeOf(mode)
  return type === 'text/plain' || type === 'text/*' || type === '*/*' || type === 'text'
}

function mediaTypeOf(text: string): string {
  return (text.split(';', 1)[0] as string).trim().toLowerCase()
}

function textOf({ parts }: Message): string {
  if (parts.length === 0) throw malformed('message.parts is empty')
  if (parts.length > MAX_PARTS)
    throw malformed(`message.parts has ${parts.length} entries; the maximum is ${MAX_PARTS}`)
  const texts = parts.map(({ content, mediaType }, index) => {
    const type = mediaTypeOf(mediaType)
    switch (content?.$case) {
      case 'text':
        if (type !== '' && type !== 'text' && !type.startsWith('text/')) throw unsupported(index, type)
        return content.value
      case 'data':
        if (type !== '' && type !== 'application/json' && !type.endsWith('+json')) throw unsupported(index, type)
        return JSON.stringify(content.value, null, 2)
      case 'raw':
        throw unsupported(index, `raw bytes${type === '' ? '' : ` of type ${type}`}`)
      case 'url':
        throw unsupported(index, 'a URL, which this server does not fetch')
      default:
        throw malformed(`message.parts[${index}] has no text, data, raw or url`)
    }
  })
  const text = texts.join('\n\n')
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_TEXT_BYTES)
    throw malformed(`the parts of the message have ${bytes} bytes of text; the maximum is ${MAX_TEXT_BYTES}`)
  if (text.trim() === '') throw malformed('the parts of the message contain no text')
  return text
}

function unsupported(index: number, what: string): Error {
  return new ContentTypeNotSupportedError(
    `message.parts[${index}] is ${what}; supported are text, and data as ${INPUT_MODES[1]}`
  )
}

/** Reads the hints under the URI of the extension. Unknown ones are refused, since they would have no effect. */
function hintsOf(metadata: Readonly<Record<string, unknown>> | undefined): TaskHints {
  const hints = metadata?.[MESH_EXTENSION]
  if (hints === undefined) return {}
  if (typeof hints !== 'object' || hints === null || Array.isArray(hints))
    throw malformed(`message.metadata["${MESH_EXTENSION}"] must be an object`)
  const { campaign_id, priority, ...others } = hints as Readonly<Record<string, unknown>>
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw malformed(`message.metadata["${MESH_EXTENSION}"] has the unknown field "${unknown.slice(0, 100)}"`)
  if (campaign_id !== undefined && (typeof campaign_id !== 'string' || !/^.{1,256}$/u.test(campaign_id)))
    throw malformed('campaign_id must be a text of 1 to 256 characters')
  const known = PRIORITIES.find(each => each === priority)
  if (priority !== undefined && known === undefined) throw malformed(`priority must be ${PRIORITIES.join(', ')}`)
  return {
    ...(campaign_id === undefined ? null : { campaign_id }),
    ...(known === undefined ? null : { priority: known })
  }
}
