import type { ContextEnvelope } from '@svc/contracts'

/** Returns a valid envelope of the test kernels' repository, with changes. */
export function envelope(change: Partial<ContextEnvelope> = {}): ContextEnvelope {
  return {
    schema_version: 1,
    envelope_type: 'session_summary',
    envelope_id: 'ctx-1',
    created_at_unix_ms: 1_000_000,
    provenance: { source_plane: 'mcp', source_system: 'editor', capture_mode: 'inline' },
    trust: { trust_tier: 'trusted', authority_rank: 100, freshness_tier: 'recent' },
    subject: { repository_id: 'test' },
    content: { summary_text: 'The parser is being rewritten.' },
    conflict_policy: { merge_strategy: 'last_write_wins' },
    budget: { priority: 'normal', injection_mode: 'inline' },
    ...change
  }
}

export function withStrategy(
  merge_strategy: ContextEnvelope['conflict_policy']['merge_strategy'],
  change: Partial<ContextEnvelope> = {}
): ContextEnvelope {
  return envelope({ ...change, conflict_policy: { merge_strategy } })
}
