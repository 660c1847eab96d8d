import { service } from '@svc/plugin-sdk'
import type { QgateContext } from '../orchestration/task.ts'

/**
 * The context envelope of each session. Received envelopes are checked and merged by the policy of the context
 * lifecycle.
 */
export const sessionContext = service<SessionContext>('sessions.context@1')

export interface SessionContext {
  /**
   * Checks an envelope and merges it into the session's envelope, by the received envelope's merge strategy. In shadow
   * mode violations are logged. Throws `ORC_ENVELOPE_INVALID` if the lifecycle is enforced, or for invalid JSON.
   */
  ingest(json: string, from: IngestSource): Promise<IngestOutcome>
  /** Returns the merged envelope of a session, or null. */
  envelope(session: string): Promise<ContextEnvelope | null>
  /** Returns the evidence for the quality gate from the payload of a retrieval envelope. */
  evidence(payload: Readonly<Record<string, unknown>>): QgateContext
  /** Replaces the stored envelope without a merge. */
  put(session: string, envelope: ContextEnvelope): Promise<void>
  /** Returns context for a prompt: at most `maxTokens` × 4 bytes, cut with a note. Empty if the session has none. */
  inject(session: string, maxTokens: number): Promise<string>
}

export interface IngestSource {
  readonly source: 'McpSubmitTask' | 'McpHandoffTool' | 'SessionStoreWrite' | 'SessionAttach' | 'InternalHandoffAccept'
  readonly session_id?: string
  readonly repository_id: string
}

export interface IngestOutcome {
  readonly envelope: ContextEnvelope
  readonly violations: readonly string[]
  readonly outcome:
    | 'initial_store'
    | 'kept_previous_append_only'
    | 'took_incoming_last_write'
    | 'took_incoming_authority'
    | 'kept_previous_authority'
    | 'took_incoming_confidence'
    | 'kept_previous_confidence'
    | 'crdt_merged'
    | 'not_stored'
}

export type MergeStrategy =
  | 'append_only'
  | 'last_write_wins'
  | 'authority_precedence'
  | 'confidence_weighted'
  | 'crdt_merge'
  | 'manual_review'

/** Version 1; the schema is contracts/communication/context-envelope.v1.schema.json. */
export interface ContextEnvelope {
  readonly schema_version: 1
  readonly envelope_type: string
  readonly envelope_id: string
  readonly created_at_unix_ms: number
  readonly expires_at_unix_ms?: number
  readonly stale_after_ms?: number
  readonly provenance: {
    readonly source_plane: string
    readonly source_system: string
    readonly capture_mode: string
    readonly trace_id?: string
    readonly correlation_id?: string
    readonly [field: string]: unknown
  }
  readonly trust: {
    readonly trust_tier: string
    readonly authority_rank: number
    readonly freshness_tier: string
    readonly confidence?: number
  }
  readonly subject: {
    readonly repository_id: string
    readonly session_id?: string
    readonly thread_id?: string
    readonly task_id?: unknown
    readonly agent_id?: unknown
    readonly surface?: string
  }
  readonly content: {
    readonly summary_text: string
    readonly facts?: readonly { readonly id: string; readonly text: string; readonly refs?: readonly string[] }[]
    readonly repo_paths?: readonly string[]
    readonly artifact_refs?: readonly string[]
    readonly citations?: readonly string[]
    readonly tags?: readonly string[]
    readonly structured_payload?: unknown
  }
  readonly conflict_policy: { readonly merge_strategy: MergeStrategy; readonly conflict_class?: string }
  readonly budget: {
    readonly priority: string
    readonly injection_mode: string
    readonly max_tokens?: number
    readonly cost_class?: string
  }
  readonly operating_mode?: unknown
  readonly obo_token?: string
  readonly [field: string]: unknown
}
