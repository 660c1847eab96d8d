import { type Infer, t } from '@svc/plugin-sdk'

const identifier = (description: string, maxLength: number) => t.string({ description, minLength: 1, maxLength })
const mark = (description: string, maxLength: number) =>
  t.optional(t.nullable(t.string({ maxLength }), { description }))

/**
 * Envelope that accompanies a request through every surface, version 1. The published form of this schema is
 * `orchestration/journey-envelope.v1.schema.json`. Further fields are kept.
 */
export const journeyEnvelopeSchema = t.object(
  {
    envelope_version: t.enum([1], { description: 'Version of this format.' }),
    journey_id: identifier('What the request is a part of; several sessions may share it.', 2048),
    session_id: identifier('Session in which it was made.', 2048),
    repository_id: identifier('Repository that it is about.', 512),
    origin_surface: t.enum(['mcp', 'cli', 'orchestrator', 'daemon'], { description: 'Where it came in.' }),
    thread_id: mark('Thread within the session.', 2048),
    trace_id: mark('Trace that it belongs to.', 256),
    correlation_id: mark('Mark by which its maker knows the answer.', 256),
    cognitive_profile: mark('How it is to be thought about: fast, reasoning or creative, for example.', 64)
  },
  { additionalProperties: true }
)

/** Version 1; the schema is contracts/orchestration/journey-envelope.v1.schema.json. Further fields are kept. */
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

/** An envelope of what is known of a request; what is absent, and a blank profile, is left out. */
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

/** `journey_<nanoseconds>`; no two of one process are the same, whatever its clock can tell apart. */
function newJourneyId(): string {
  const now = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6))
  lastNanoseconds = now > lastNanoseconds ? now : lastNanoseconds + 1n
  return `journey_${lastNanoseconds}`
}
