import type { ContextEnvelope, IngestOutcome } from '@svc/contracts'

export interface Merged {
  /** New envelope of the session. */
  readonly envelope: ContextEnvelope
  /** `not_stored`: a user must decide first, and the previous envelope stays. */
  readonly outcome: IngestOutcome['outcome']
}

/** Maximum bytes of joined summaries; beyond it, the oldest parts are dropped. */
const MAX_SUMMARY_BYTES = 65_536

const SEPARATOR = '\n---\n'

/**
 * Merges an envelope into the session's envelope, by the strategy of the incoming one. Does not change the inputs.
 * `now`, in milliseconds, becomes part of the merged id.
 */
export function mergeEnvelopes(previous: ContextEnvelope | null, incoming: ContextEnvelope, now: number): Merged {
  if (previous === null) return { envelope: incoming, outcome: 'initial_store' }
  switch (incoming.conflict_policy.merge_strategy) {
    case 'append_only':
      return { envelope: previous, outcome: 'kept_previous_append_only' }
    case 'last_write_wins':
      return { envelope: incoming, outcome: 'took_incoming_last_write' }
    case 'authority_precedence':
      return incoming.trust.authority_rank >= previous.trust.authority_rank
        ? { envelope: incoming, outcome: 'took_incoming_authority' }
        : { envelope: previous, outcome: 'kept_previous_authority' }
    case 'confidence_weighted':
      return (incoming.trust.confidence ?? 0) >= (previous.trust.confidence ?? 0)
        ? { envelope: incoming, outcome: 'took_incoming_confidence' }
        : { envelope: previous, outcome: 'kept_previous_confidence' }
    case 'crdt_merge':
      return { envelope: crdtMerge(previous, incoming, now), outcome: 'crdt_merged' }
    case 'manual_review':
      return { envelope: previous, outcome: 'not_stored' }
  }
}

/**
 * Returns the union of both. Merging the same again changes only the id. The order matters only for facts with equal
 * ids, the order of summaries, and fields that cannot be joined: there the incoming one wins. The result has the lower
 * trust, so that merging never raises trust.
 */
function crdtMerge(previous: ContextEnvelope, incoming: ContextEnvelope, now: number): ContextEnvelope {
  const [a, b] = [previous.content, incoming.content]
  const facts = new Map([...(a.facts ?? []), ...(b.facts ?? [])].map(fact => [fact.id, fact]))
  const expires = minDefined(previous.expires_at_unix_ms, incoming.expires_at_unix_ms)
  const stale = minDefined(previous.stale_after_ms, incoming.stale_after_ms)
  // The token of one envelope is not valid for the merged one.
  const { obo_token: _, ...rest } = { ...previous, ...incoming }
  return {
    ...rest,
    envelope_id: `ctx-crdt-merge-${now}`,
    created_at_unix_ms: Math.max(previous.created_at_unix_ms, incoming.created_at_unix_ms),
    ...(expires === undefined ? {} : { expires_at_unix_ms: expires }),
    ...(stale === undefined ? {} : { stale_after_ms: stale }),
    provenance: { ...previous.provenance, ...incoming.provenance, capture_mode: 'derived' },
    trust: weaker(previous.trust, incoming.trust),
    subject: { ...previous.subject, ...incoming.subject },
    content: {
      ...a,
      ...b,
      summary_text: joinSummaries(a.summary_text, b.summary_text),
      ...(facts.size > 0 ? { facts: [...facts.values()].sort((x, y) => compare(x.id, y.id)) } : {}),
      ...union('repo_paths', a, b),
      ...union('artifact_refs', a, b),
      ...union('citations', a, b),
      ...union('tags', a, b)
    }
  }
}

type Content = ContextEnvelope['content']
type Trust = ContextEnvelope['trust']

function joinSummaries(previous: string, incoming: string): string {
  const parts = [...new Set([...previous.split(SEPARATOR), ...incoming.split(SEPARATOR)])].filter(part => part !== '')
  let bytes = 0
  const first = parts.findLastIndex(part => (bytes += Buffer.byteLength(part) + SEPARATOR.length) > MAX_SUMMARY_BYTES)
  // A single oversized part is kept: if it were cut, each merge would create another part.
  return parts.slice(Math.min(first + 1, parts.length - 1)).join(SEPARATOR)
}

function union(
  field: 'repo_paths' | 'artifact_refs' | 'citations' | 'tags',
  a: Content,
  b: Content
): { readonly [field: string]: readonly string[] } {
  const all = new Set([...(a[field] ?? []), ...(b[field] ?? [])])
  return all.size === 0 ? {} : { [field]: [...all].sort(compare) }
}

const TIERS = ['untrusted', 'advisory', 'trusted', 'system_verified']
const FRESHNESS = ['volatile', 'recent', 'stable', 'archival']

function weaker(a: Trust, b: Trust): Trust {
  const confidence = minDefined(a.confidence, b.confidence)
  return {
    ...a,
    ...b,
    trust_tier: lower(TIERS, a.trust_tier, b.trust_tier),
    authority_rank: Math.min(a.authority_rank, b.authority_rank),
    freshness_tier: lower(FRESHNESS, a.freshness_tier, b.freshness_tier),
    ...(confidence === undefined ? {} : { confidence })
  }
}

function lower(order: readonly string[], a: string, b: string): string {
  return order.indexOf(a) <= order.indexOf(b) ? a : b
}

function minDefined(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.min(a, b)
}

/** Compares by code units, so that the order is the same on every machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
