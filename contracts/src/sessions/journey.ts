import { type Infer, t } from '@svc/plugin-sdk'

const identifier = (description: string, maxLength: number) => t.string({ description, minLength: 1, maxLength })
const mark = (description: string, maxLength: number) =>
  t.optional(t.nullable(t.string({ maxLength }), { description }))

/**
 * Envelope that accompanies a request through every surface, version 1. The published form of this schema is
 * `orchestration/journey-envelope.v1.schema.json`. Unknown fields are preserved.
 */
export const journeyEnvelopeSchema = t.object(
  {
    envelope_version: t.enum([1], { description: 'Version of this format.' }),
    journey_id: identifier('Journey that the request belongs to; several sessions may share it.', 2048),
    session_id: identifier('Session of the request.', 2048),
    repository_id: identifier('Repository of the request.', 512),
    origin_surface: t.enum(['mcp', 'cli', 'orchestrator', 'daemon'], { description: 'Surface of the request.' }),
    thread_id: mark('Thread within the session.', 2048),
    trace_id: mark('Trace of the request.', 256),
    correlation_id: mark('Correlation id for the response.', 256),
    cognitive_profile: mark('Requested mode, for example fast, reasoning or creative.', 64)
  },
  { additionalProperties: true }
)

/** Version 1; the schema is contracts/orchestration/journey-envelope.v1.schema.json. Unknown fields are preserved. */
export type JourneyEnvelope = Infer<typeof journeyEnvelopeSchema> & { readonly [field: string]: unknown }

export interface JourneyParts {
  /** Default: `journey_<nanoseconds since the epoch>`. */
  readonly journey_id?: string | undefined
  readonly session_id: string
  readonly repository_id: string
  readonly origin_surface: JourneyEnvelope['origin_surface']
  readonly thread_id?: string | undefined
  readonly trace_id?: string | undefined
  readonly correlation_id?: string | undefined
  readonly cognitive_profile?: string | undefined
}

/** Creates an envelope from the known fields of a request. Absent fields and a blank profile are left out. */
export function newJourney(parts: JourneyParts): JourneyEnvelope {
  const { journey_id = newJourneyId(), session_id, repository_id, origin_surface, cognitive_profile } = parts
  const journey: Record<string, unknown> = {
    envelope_version: 1,
    journey_id,
    session_id,
    repository_id,
    origin_surface
  }
  for (const field of ['thread_id', 'trace_id', 'correlation_id'] as const) {
    if (parts[field] !== undefined) journey[field] = parts[field]
  }
  if (cognitive_profile !== undefined && cognitive_profile.trim() !== '') journey.cognitive_profile = cognitive_profile
  return journey as JourneyEnvelope
}

let lastNanoseconds = 0n

/** Returns `journey_<nanoseconds>`, unique in a process even if its clock is coarse. */
function newJourneyId(): string {
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6))
  lastNanoseconds = now > lastNanoseconds ? now : lastNanoseconds + 1n
  return `journey_${lastNanoseconds}`
}
