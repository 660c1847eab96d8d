/** Version 1; the schema is contracts/orchestration/journey-envelope.v1.schema.json. Further fields are kept. */
export interface JourneyEnvelope {
  readonly envelope_version: 1
  readonly journey_id: string
  readonly session_id: string
  readonly repository_id: string
  readonly origin_surface: 'mcp' | 'cli' | 'orchestrator' | 'daemon'
  readonly thread_id?: string | null
  readonly trace_id?: string | null
  readonly correlation_id?: string | null
  readonly cognitive_profile?: string | null
  readonly [field: string]: unknown
}
