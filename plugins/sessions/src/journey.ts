import { type JourneyEnvelope, journeyEnvelopeSchema } from '@svc/contracts'
import { sessionErrors } from './errors.ts'
import { boundsProblem, MAX_ENVELOPE_BYTES } from './json-bounds.ts'
import { shapeCheck } from './validated-shape.ts'

const problemOf = shapeCheck(() => journeyEnvelopeSchema)

/** Returns a valid envelope unchanged. Throws `SES_JOURNEY_INVALID`. */
export function checkedJourney(value: unknown): JourneyEnvelope {
  const bounds = boundsProblem(value)
  const problem = bounds === null ? (problemOf(value) ?? sizeProblem(value)) : `it ${bounds}`
  if (problem === null) return value as JourneyEnvelope
  throw sessionErrors.create('SES_JOURNEY_INVALID', `the journey envelope is not valid: ${problem}`, {
    hint: 'contracts/orchestration/journey-envelope.v1.schema.json defines the format'
  })
}

function sizeProblem(value: unknown): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(value))
  return bytes > MAX_ENVELOPE_BYTES ? `it has ${bytes} bytes; the limit is ${MAX_ENVELOPE_BYTES} bytes` : null
}
