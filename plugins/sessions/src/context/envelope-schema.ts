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
const texts = (description: string) => t.optional(t.array(t.string(), { description }))
const note = (description: string) => t.optional(t.string({ description }))

/**
 * A context envelope, version 1. `published`: contracts/communication/context-envelope.v1.schema.json. `parsed`: the
 * same without the limits that the lifecycle checks, since a violation of those does not make an envelope unreadable.
 */
export function contextEnvelopeSchema(form: 'published' | 'parsed'): JsonSchema {
  const isPublished = form === 'published'
  const identifier = (description: string) => t.string({ description, ...(isPublished ? { minLength: 1 } : {}) })
  return t.object(
    {
      schema_version: isPublished
        ? t.enum([1], { description: 'Version of this format.' })
        : t.integer({ description: 'Version of this format.' }),
      envelope_type: t.enum(ENVELOPE_TYPES, { description: 'What the content is.' }),
      envelope_id: identifier('Name of this envelope.'),
      created_at_unix_ms: t.integer({
        description: 'When it was made.',
        ...(isPublished ? { minimum: 1 } : {})
      }),
      expires_at_unix_ms: t.optional(t.integer({ description: 'When it is no longer to be used.', minimum: 0 })),
      stale_after_ms: t.optional(t.integer({ description: 'How long after it was made it is fresh.', minimum: 0 })),
      provenance: t.object(
        {
          source_plane: t.enum(['mcp', 'orchestrator', 'search', 'mesh', 'populi', 'codex', 'manual', 'external'], {
            description: 'Where it came from; `populi` is an older word for `mesh`.'
          }),
          source_system: identifier('Who made it.'),
          capture_mode: t.enum(['inline', 'derived', 'retrieved', 'compacted', 'handed_off', 'imported'], {
            description: 'Method of its retrieval.'
          }),
          trace_id: note('Trace of the request.'),
          correlation_id: note('Mark by which its maker knows it.'),
          observed_via: texts('Through whose hands it went.')
        },
        open
      ),
      trust: t.object(
        {
          trust_tier: t.enum(['untrusted', 'advisory', 'trusted', 'system_verified'], {
            description: 'How far the content may be believed.'
          }),
          authority_rank: t.integer({
            description: 'Whose word counts more; 0 to 10000.',
            minimum: 0,
            ...(isPublished ? { maximum: 10_000 } : {})
          }),
          freshness_tier: t.enum(['volatile', 'recent', 'stable', 'archival'], {
            description: 'How quickly it goes out of date.'
          }),
          confidence: t.optional(t.number({ description: 'How sure its maker is.', minimum: 0, maximum: 1 }))
        },
        open
      ),
      subject: t.object(
        {
          repository_id: identifier('Repository of the request.'),
          session_id: note('Session that it is about.'),
          thread_id: note('Thread within the session.'),
          task_id: t.optional(t.unknown({ description: 'Task that it is about.' })),
          agent_id: t.optional(t.unknown({ description: 'Agent that it is about.' })),
          surface: t.optional(
            t.enum(['chat', 'plan', 'task_submit', 'handoff', 'retrieval', 'remote_execute', 'memory'], {
              description: 'What it was made for.'
            })
          )
        },
        open
      ),
      content: t.object(
        {
          summary_text: t.string({ description: 'What it says, for a prompt.' }),
          facts: t.optional(
            t.array(
              t.object(
                {
                  id: t.string({ description: 'Name of the fact.' }),
                  text: t.string({ description: 'What it says.' }),
                  refs: texts('What it stands on.')
                },
                open
              ),
              { description: 'Distinct statements.' }
            )
          ),
          repo_paths: texts('Files of the repository.'),
          artifact_refs: texts('What was made.'),
          citations: texts('What the content stands on.'),
          tags: texts('Words to find it by.'),
          structured_payload: t.optional(t.unknown({ description: 'More, by the type of the envelope.' }))
        },
        open
      ),
      conflict_policy: t.object(
        {
          merge_strategy: t.enum(MERGE_STRATEGIES, { description: 'How it goes together with what is there already.' }),
          conflict_class: t.optional(
            t.enum(['temporal', 'semantic', 'authority', 'source_trust', 'policy'], {
              description: 'What kind of conflict is expected.'
            })
          )
        },
        open
      ),
      budget: t.object(
        {
          priority: t.enum(['low', 'normal', 'high', 'critical'], { description: 'What is kept when room is short.' }),
          injection_mode: t.enum(['inline', 'summary_only', 'reference_only', 'tool_required'], {
            description: 'How much of it goes into prompts.'
          }),
          max_tokens: t.optional(t.integer({ description: 'Tokens that it may take of a prompt.', minimum: 0 })),
          cost_class: t.optional(t.enum(['cheap', 'moderate', 'expensive'], { description: 'Cost of its retrieval.' }))
        },
        open
      ),
      lineage: t.optional(t.unknown({ description: 'What it was made of.' })),
      safety: t.optional(t.unknown({ description: 'What checks said of it.' })),
      obo_token: t.optional(
        t.string({ description: 'Proof of the session: HMAC-SHA256 over task, thread and time, base64url.' })
      ),
      operating_mode: t.optional(t.unknown({ description: 'Mode of work that it was made in.' })),
      agentos: t.optional(t.unknown({ description: 'Kept for its writer.' }))
    },
    open
  )
}
