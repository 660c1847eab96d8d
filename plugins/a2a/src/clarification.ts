import { a2aErrors } from './errors.ts'

/** Payload of `clarification_request`, `clarification_response` and `clarification_stop`. */
export interface Clarification {
  readonly clarification_intent: string
  readonly hypothesis_set_id?: string
  readonly question_kind?: string
  readonly expected_information_gain_bits?: number
  readonly expected_user_cost?: number
  readonly requested_evidence_dimensions?: readonly unknown[]
  readonly urgency?: string
  readonly stop_policy?: Readonly<Record<string, unknown>>
}

/** Rank of clarifications, higher than that of every other message. */
export const CLARIFICATION_RANK = 5

const TYPES: ReadonlySet<string> = new Set(['clarification_request', 'clarification_response', 'clarification_stop'])

const KINDS: ReadonlySet<unknown> = new Set(['multiple_choice', 'open_ended', 'entry', 'assumption_confirm'])

export function isClarification(type: string): boolean {
  return TYPES.has(type)
}

/** Parses the payload of a clarification. Unknown fields are ignored. Throws `MSG_CLARIFICATION_INVALID`. */
export function parseClarification(type: string, payload: string): Clarification {
  const reject = (problem: string, cause?: unknown): never => {
    throw a2aErrors.create('MSG_CLARIFICATION_INVALID', `payload of ${type}: ${problem}`, {
      hint: 'send a JSON object with clarification_intent; the README of the plugin a2a lists the fields',
      cause
    })
  }
  let value: unknown
  try {
    value = JSON.parse(payload)
  } catch (cause) {
    return reject('it is not valid JSON', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return reject('it is not an object')
  const fields = value as Record<string, unknown>
  const check = (field: string, valid: (value: unknown) => boolean, expected: string): void => {
    const value = fields[field]
    if (value !== undefined && value !== null && !valid(value)) reject(`${field} must be ${expected}`)
  }
  const isString = (value: unknown): boolean => typeof value === 'string'
  const { clarification_intent: intent } = fields
  if (typeof intent !== 'string' || intent.trim() === '') reject('clarification_intent is missing or empty')
  check('hypothesis_set_id', isString, 'a string')
  check('question_kind', value => KINDS.has(value), 'one of multiple_choice, open_ended, entry, assumption_confirm')
  check('expected_information_gain_bits', value => typeof value === 'number' && value >= 0, 'a number of 0 or more')
  check('expected_user_cost', value => typeof value === 'number' && value > 0 && value <= 1, 'a number in (0, 1]')
  check('requested_evidence_dimensions', Array.isArray, 'an array')
  check('urgency', isString, 'a string')
  check('stop_policy', value => typeof value === 'object' && !Array.isArray(value), 'an object')
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null)) as unknown as Clarification
}
