import type {
  ContextEnvelope,
  IngestOutcome,
  IngestSource,
  OrchestratorPolicy,
  QgateContext,
  SessionContext
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { MAX_ENVELOPE_BYTES } from '../json-bounds.ts'
import type { SharedContext } from '../store/shared-context.ts'
import { injectedText } from './inject.ts'
import { mergeEnvelopes } from './merge.ts'
import { invalid, parseEnvelope } from './parse.ts'
import { qgateOf } from './retrieval-evidence.ts'
import { violationsOf } from './validate.ts'

/** Lifetime of a session's envelope after its last write, in seconds. */
const TTL_SECONDS = 3600

const NEEDS_REVIEW = 'the strategy manual_review requires a user to merge the two'
const TOO_LARGE = `the merged envelope would be larger than ${MAX_ENVELOPE_BYTES} bytes`

export interface SessionEnvelopesOptions {
  readonly store: SharedContext
  readonly repositoryId: string
  readonly lifecycle: () => OrchestratorPolicy['context_lifecycle']
  /** Confidence in [0, 1] below which retrieved evidence is not stored. */
  readonly minPersistConfidence: () => number
  /** Called after context for a prompt was truncated. */
  readonly truncated: (session: string, charactersDropped: number) => void
  readonly log: Logger
  readonly now: () => number
}

/** Envelopes of sessions, stored under the key `context_envelope:<session>` in the shared context. */
export class SessionEnvelopes implements SessionContext {
  readonly #options: SessionEnvelopesOptions

  constructor(options: SessionEnvelopesOptions) {
    this.#options = options
  }

  async ingest(json: string, from: IngestSource): Promise<IngestOutcome> {
    const { log, now, lifecycle } = this.#options
    const envelope = parseEnvelope(json)
    const { repository_id, session_id, source } = from
    const violations = violationsOf(envelope, { repository_id, session_id, now: now() })
    const { shadow, enforce } = lifecycle()
    if (violations.length > 0) {
      if (enforce) throw invalid(violations.join('; '))
      if (shadow) {
        log.warn('an envelope violates the context lifecycle', {
          event: 'context.violation',
          source,
          envelope_id: envelope.envelope_id,
          violations
        })
      }
      // The request continues, but the envelope is not stored.
      return { envelope, violations, outcome: 'not_stored' }
    }
    const { confidence } = envelope.trust
    const minimum = this.#options.minPersistConfidence()
    if (envelope.envelope_type === 'retrieval_evidence' && confidence !== undefined && confidence < minimum) {
      log.info('evidence of low confidence is not stored', {
        event: 'context.low_confidence',
        source,
        envelope_id: envelope.envelope_id,
        confidence,
        min_persist_confidence: minimum
      })
      return { envelope, violations, outcome: 'not_stored' }
    }
    if (shadow || enforce) {
      const { provenance, conflict_policy } = envelope
      log.info('captured a context envelope', {
        event: 'context.capture',
        source,
        repository_id,
        session_id: session_id ?? envelope.subject.session_id ?? null,
        envelope_id: envelope.envelope_id,
        envelope_type: envelope.envelope_type,
        merge_strategy: conflict_policy.merge_strategy,
        trace_id: provenance.trace_id ?? null,
        correlation_id: provenance.correlation_id ?? null
      })
    }
    const session = session_id || envelope.subject.session_id
    if (!session) return { envelope, violations, outcome: 'not_stored' }
    return { violations, ...(await this.#merge(session, envelope)) }
  }

  async envelope(session: string): Promise<ContextEnvelope | null> {
    const entry = await this.#options.store.get(keyOf(session))
    return entry === null ? null : this.#read(session, entry.value)
  }

  evidence(payload: Readonly<Record<string, unknown>>): QgateContext {
    return qgateOf(payload)
  }

  async put(session: string, envelope: ContextEnvelope): Promise<void> {
    const text = JSON.stringify(envelope)
    parseEnvelope(text)
    await this.#options.store.set(keyOf(session), text, { ttlSeconds: TTL_SECONDS })
  }

  async inject(session: string, maxTokens: number): Promise<string> {
    const envelope = await this.envelope(session)
    if (envelope === null) return ''
    const { text, dropped } = injectedText(envelope, keyOf(session), maxTokens, this.#options.now())
    if (dropped > 0) this.#options.truncated(session, dropped)
    return text
  }

  async #merge(session: string, incoming: ContextEnvelope): Promise<Pick<IngestOutcome, 'envelope' | 'outcome'>> {
    const { store, log, now, lifecycle } = this.#options
    let prior: ContextEnvelope | null = null
    let merged = mergeEnvelopes(null, incoming, now())
    let refusal: string | null = null
    await store.update(keyOf(session), entry => {
      prior = entry === null ? null : this.#read(session, entry.value)
      merged = mergeEnvelopes(prior, incoming, now())
      refusal = merged.outcome === 'not_stored' ? NEEDS_REVIEW : null
      const value = JSON.stringify(merged.envelope)
      if (prior !== null && Buffer.byteLength(value) > MAX_ENVELOPE_BYTES) {
        merged = { envelope: prior, outcome: 'not_stored' }
        refusal = TOO_LARGE
      }
      if (refusal !== null) return null
      return {
        value,
        agent_id: entry?.agent_id ?? null,
        expires_at_ms: store.expiry(TTL_SECONDS)
      }
    })
    const { shadow, enforce } = lifecycle()
    if (refusal !== null && enforce)
      throw invalid(`the session ${JSON.stringify(session)} already has an envelope, and ${refusal}`)
    if (shadow || enforce) {
      log.info('selected the context of a session', {
        event: 'context.select',
        session_id: session,
        strategy: incoming.conflict_policy.merge_strategy,
        outcome: merged.outcome,
        incoming_envelope_id: incoming.envelope_id,
        prior_envelope_id: (prior as ContextEnvelope | null)?.envelope_id ?? null
      })
    }
    return merged
  }

  /** Parses a stored envelope. Any client may write under the key, so an invalid value is ignored with a warning. */
  #read(session: string, text: string): ContextEnvelope | null {
    try {
      return parseEnvelope(text)
    } catch (error) {
      this.#options.log.warn('the stored context envelope of a session is not valid', {
        session_id: session,
        reason: (error as Error).message
      })
      return null
    }
  }
}

function keyOf(session: string): string {
  return `context_envelope:${session}`
}
