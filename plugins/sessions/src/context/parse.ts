import { type ContextEnvelope, orchestrationErrors } from '@svc/contracts'
import type { SvcError } from '@svc/plugin-sdk'
import { boundsProblem, MAX_ENVELOPE_BYTES } from '../json-bounds.ts'
import { shapeCheck } from '../validated-shape.ts'
import { contextEnvelopeSchema } from './envelope-schema.ts'

const problemOf = shapeCheck(() => contextEnvelopeSchema('parsed'))

/**
 * Parses an envelope from JSON. Throws `ORC_ENVELOPE_INVALID` for invalid JSON, more than 128 KiB, excessive nesting,
 * reserved field names, characters that cannot be stored, or a violation of the schema.
 */
export function parseEnvelope(json: string): ContextEnvelope {
  const bytes = Buffer.byteLength(json)
  if (bytes > MAX_ENVELOPE_BYTES) throw invalid(`it has ${bytes} bytes; the limit is ${MAX_ENVELOPE_BYTES} bytes`)
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw invalid(`it is not JSON: ${(error as Error).message}`)
  }
  const problem = boundsProblem(value)
  if (problem !== null) throw invalid(`it ${problem}`)
  const mistake = problemOf(value)
  if (mistake !== null) throw invalid(mistake)
  return value as ContextEnvelope
}

export function invalid(problem: string): SvcError {
  return orchestrationErrors.create('ORC_ENVELOPE_INVALID', `Context envelope: ${problem}`, {
    hint: 'contracts/communication/context-envelope.v1.schema.json defines the format'
  })
}
