import { a2aErrors } from './errors.ts'

/** Question of one agent to another; the payload of `clarification_request`, `_response` and `_stop`. */
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

/** Higher than every other message. */
export const CLARIFICATION_RANK = 5

const TYPES: ReadonlySet<string> = new Set(['clarification_request', 'clarification_response', 'clarification_stop'])

const KINDS: ReadonlySet<unknown> = new Set(['multiple_choice', 'open_ended', 'entry', 'assumption_confirm'])

export function isClarification(type: string): boolean {
  return TYPES.has(type)
}

/** Throws `MSG_CLARIFICATION_INVALID`, and names the field. Unknown fields stay in the payload and are ignored. */
export function parseClarification(type: string, payload: string): Clarification {
  const refuse = (what: string, cause?: unknown): never => {
    throw a2aErrors.create('MSG_CLARIFICATION_INVALID', `the payload of a ${type} ${what}`, {
      hint: 'send JSON with clarification_intent, see the README of the plugin a2a',
      cause
    })
  }
  let value: unknown
  try {
    value = JSON.parse(payload)
  } catch (cause) {
    return refuse('is not JSON', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse('is not an object')
  const fields = value as Record<string, unknown>
  const demand = (field: string, sound: (given: unknown) => boolean, what: string): void => {
    const given = fields[field]
    if (given !== undefined && given !== null && !sound(given)) refuse(`has a ${field} that is not ${what}`)
  }
  const text = (given: unknown): boolean => typeof given === 'string'
  const { clarification_intent: intent } = fields
  if (typeof intent !== 'string' || intent.trim() === '') refuse('has no clarification_intent')
  demand('hypothesis_set_id', text, 'a text')
  demand('question_kind', given => KINDS.has(given), 'one of multiple_choice, open_ended, entry, assumption_confirm')
  demand('expected_information_gain_bits', given => typeof given === 'number' && given >= 0, 'a number of 0 or more')
  demand('expected_user_cost', given => typeof given === 'number' && given > 0 && given <= 1, 'in (0, 1]')
  demand('requested_evidence_dimensions', Array.isArray, 'a list')
  demand('urgency', text, 'a text')
  demand('stop_policy', given => typeof given === 'object' && !Array.isArray(given), 'an object')
  return Object.fromEntries(Object.entries(fields).filter(([, given]) => given !== null)) as unknown as Clarification
}
