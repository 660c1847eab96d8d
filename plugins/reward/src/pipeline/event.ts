import { createHash } from 'node:crypto'
import { rewardErrors } from '../errors.ts'

export const MAX_EVENT_BYTES = 262_144
const MAX_TYPE_LENGTH = 200
const MAX_ID_LENGTH = 200
/** Namespace of idempotency keys. */
const NAMESPACE = 'orch'

/** Event after its validation. */
export interface ValidEvent {
  readonly type: string
  readonly event: Readonly<Record<string, unknown>>
  readonly json: string
  /** Agent that did the work; null for the user. */
  readonly agentId: string | null
  /** Idempotency key within the user; null: the event always counts. */
  readonly key: string | null
  /** Unix milliseconds of its arrival. */
  readonly at: number
  /** Whether it comes from the file of a process that ended, such as a single command. */
  readonly isSpooled?: boolean
}

/** Checks an event: an object with a type, at most 262,144 bytes of JSON. Throws `RWD_EVENT_INVALID`. */
export function validateEvent(value: unknown, at: number): ValidEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid('it is not an object')
  const event = value as Readonly<Record<string, unknown>>
  const { type } = event
  if (typeof type !== 'string' || type === '') throw invalid('it has no text "type"')
  if (type.length > MAX_TYPE_LENGTH)
    throw invalid(`its type has ${type.length} characters; the limit is ${MAX_TYPE_LENGTH}`)
  const json = toJson(event)
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_EVENT_BYTES) throw invalid(`${type} has ${bytes} bytes; the limit is ${MAX_EVENT_BYTES}`)
  return { type: wellFormed(type), event, json, agentId: idOf(event.agent_id), key: keyOf(event.ludus_dedupe_id), at }
}

/** Returns the event with other content, such as masked arguments. */
export function withContent(valid: ValidEvent, event: Readonly<Record<string, unknown>>): ValidEvent {
  return { ...valid, event, json: toJson(event) }
}

/** Returns the event with JSON in which `mask` concealed secrets. It stays JSON if a number is a secret. */
export function concealed(valid: ValidEvent, mask: (text: string) => string = text => text): ValidEvent {
  const json = mask(valid.json)
  if (json === valid.json) return valid
  try {
    JSON.parse(json)
    return { ...valid, json }
  } catch {
    const conceal = (_: string, value: unknown): unknown =>
      typeof value === 'string' || (typeof value === 'number' && mask(String(value)) !== String(value))
        ? mask(String(value))
        : value
    return { ...valid, json: JSON.stringify(JSON.parse(valid.json, conceal)) }
  }
}

function toJson(event: object): string {
  try {
    return JSON.stringify(event)
  } catch (cause) {
    throw invalid('it cannot be written as JSON', cause)
  }
}

function idOf(value: unknown): string | null {
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return typeof value === 'string' && value !== '' ? wellFormed(value.slice(0, MAX_ID_LENGTH)) : null
}

function keyOf(value: unknown): string | null {
  if (typeof value === 'number') return `${NAMESPACE}:${value}`
  if (typeof value !== 'string' || value === '') return null
  const id = value.length > MAX_ID_LENGTH ? createHash('sha256').update(value).digest('hex') : value
  return `${NAMESPACE}:${wellFormed(id)}`
}

/** Replaces what a text column of the database cannot hold: U+0000 and lone surrogates. */
export function wellFormed(text: string): string {
  return Buffer.from(text.replaceAll('\0', '\ufffd'), 'utf8').toString('utf8')
}

function invalid(problem: string, cause?: unknown) {
  return rewardErrors.create('RWD_EVENT_INVALID', `reward event: ${problem}`, {
    hint: 'send an object with a text type, at most 262,144 bytes of JSON',
    cause
  })
}
