import { type JsonSchema, t } from '@svc/plugin-sdk'

const MERGE_STRATEGIES = [
  'append_only',
  'last_write_wins',
  'authority_precedence',
  'confidence_weighted',
  'crdt_merge',
  'manual_review'
] as const

const ENVELOPE_TYPES = [
  'chat_turn',
  'session_summary',
  'retrieval_evidence',
  'task_context',
  'handoff_context',
  'agent_note',
  'policy_hint',
  'execution_context'
] as const

const open = { additionalProperties: true } as const
const optionalStrings = (description: string) => t.optional(t.array(t.string(), { description }))
const optionalString = (description: string) => t.optional(t.string({ description }))

/**
 * Returns the schema of a context envelope, version 1. `published`:
 * contracts/communication/context-envelope.v1.schema.json. `parsed`: the same without the limits that the lifecycle
 * checks, so that an envelope that violates only those can be parsed.
 */
export function contextEnvelopeSchema(form: 'published' | 'parsed'): JsonSchema {
  const isPublished = form === 'published'
  const identifier = (description: string) => t.string({ description, ...(isPublished ? { minLength: 1 } : {}) })
  return t.object(
    {
      schema_version: isPublished
        ? t.enum([1], { description: 'Version of this format.' })
        : t.integer({ description: 'Version of this format.' }),
      envelope_type: t.enum(ENVELOPE_TYPES, { description: 'Kind of the content.' }),
      envelope_id: identifier('Id of this envelope.'),
      created_at_unix_ms: t.integer({
        description: 'When the envelope was created.',
        ...(isPublished ? { minimum: 1 } : {})
      }),
      expires_at_unix_ms: t.optional(t.integer({ description: 'When the envelope expires.', minimum: 0 })),
      stale_after_ms: t.optional(
        t.integer({ description: 'Milliseconds after creation until it is stale.', minimum: 0 })
      ),
      provenance: t.object(
        {
          source_plane: t.enum(['mcp', 'orchestrator', 'search', 'mesh', 'populi', 'codex', 'manual', 'external'], {
            description: 'Plane of origin; `populi` is an older name for `mesh`.'
          }),
          source_system: identifier('System that created the envelope.'),
          capture_mode: t.enum(['inline', 'derived', 'retrieved', 'compacted', 'handed_off', 'imported'], {
            description: 'How the content was retrieved.'
          }),
          trace_id: optionalString('Trace of the request.'),
          correlation_id: optionalString('Correlation id of the author.'),
          observed_via: optionalStrings('Agents that passed the envelope on.')
        },
        open
      ),
      trust: t.object(
        {
          trust_tier: t.enum(['untrusted', 'advisory', 'trusted', 'system_verified'], {
            description: 'Trust in the content.'
          }),
          authority_rank: t.integer({
            description: 'Authority of the source; 0 to 10000.',
            minimum: 0,
            ...(isPublished ? { maximum: 10_000 } : {})
          }),
          freshness_tier: t.enum(['volatile', 'recent', 'stable', 'archival'], {
            description: 'How quickly the content becomes outdated.'
          }),
          confidence: t.optional(t.number({ description: 'Confidence of the author.', minimum: 0, maximum: 1 }))
        },
        open
      ),
      subject: t.object(
        {
          repository_id: identifier('Repository of the request.'),
          session_id: optionalString('Session of the request.'),
          thread_id: optionalString('Thread within the session.'),
          task_id: t.optional(t.unknown({ description: 'Task of the request.' })),
          agent_id: t.optional(t.unknown({ description: 'Agent of the request.' })),
          surface: t.optional(
            t.enum(['chat', 'plan', 'task_submit', 'handoff', 'retrieval', 'remote_execute', 'memory'], {
              description: 'Use of the envelope.'
            })
          )
        },
        open
      ),
      content: t.object(
        {
          summary_text: t.string({ description: 'Summary for a prompt.' }),
          facts: t.optional(
            t.array(
              t.object(
                {
                  id: t.string({ description: 'Id of the fact.' }),
                  text: t.string({ description: 'The statement.' }),
                  refs: optionalStrings('Sources of the fact.')
                },
                open
              ),
              { description: 'Distinct statements.' }
            )
          ),
          repo_paths: optionalStrings('Files of the repository.'),
          artifact_refs: optionalStrings('Artefacts that were produced.'),
          citations: optionalStrings('Sources of the content.'),
          tags: optionalStrings('Keywords for searches.'),
          structured_payload: t.optional(t.unknown({ description: 'Additional data, by the type of the envelope.' }))
        },
        open
      ),
      conflict_policy: t.object(
        {
          merge_strategy: t.enum(MERGE_STRATEGIES, {
            description: "How the envelope is merged with the session's existing one."
          }),
          conflict_class: t.optional(
            t.enum(['temporal', 'semantic', 'authority', 'source_trust', 'policy'], {
              description: 'Kind of conflict to expect.'
            })
          )
        },
        open
      ),
      budget: t.object(
        {
          priority: t.enum(['low', 'normal', 'high', 'critical'], {
            description: 'Priority of the content if the budget is short.'
          }),
          injection_mode: t.enum(['inline', 'summary_only', 'reference_only', 'tool_required'], {
            description: 'How much of the content goes into prompts.'
          }),
          max_tokens: t.optional(t.integer({ description: 'Maximum tokens in a prompt.', minimum: 0 })),
          cost_class: t.optional(
            t.enum(['cheap', 'moderate', 'expensive'], { description: 'Cost class of the retrieval.' })
          )
        },
        open
      ),
      lineage: t.optional(t.unknown({ description: 'Inputs of the envelope.' })),
      safety: t.optional(t.unknown({ description: 'Results of safety checks.' })),
      obo_token: t.optional(
        t.string({ description: 'Token that proves the session: HMAC-SHA256 over task, thread and time, base64url.' })
      ),
      operating_mode: t.optional(t.unknown({ description: 'Operating mode when the envelope was created.' })),
      agentos: t.optional(t.unknown({ description: 'Custom data of the author.' }))
    },
    open
  )
}
