import type { Attestation, ContextEnvelope, QgateContext } from '@svc/contracts'
import { statesFacts } from './factual-sentences.ts'
import { type Gate, passed, skipped } from './gate.ts'
import { isTrustRelaxed } from './settings.ts'

const MARKER = /\[\[voxcite:([^\]\n]{1,2048})\]\]/g

/** Maximum citations of one attestation that are checked. */
const MAX_REFS = 1_000

export interface Grounding {
  /** Cited references. */
  readonly declared: readonly string[]
  /** Cited references that are in the session's envelope. */
  readonly matched: readonly string[]
  readonly violations: readonly {
    readonly code: 'declared_not_in_envelope' | 'factual_without_declarations'
    readonly detail: string
  }[]
}

/** Gate: citations are in the session's envelope, and facts have citations if required. */
export const groundingGate: Gate = {
  name: 'grounding',
  counter: 'qgate_iterations',
  heading: () => '[GROUNDING GATE]',
  ask({ grounding, settings, trust }) {
    if (grounding === null) return skipped('the task has no evidence to check')
    if (!settings.completion_grounding_enforce && !settings.completion_grounding_shadow)
      return skipped('completion_grounding_enforce and completion_grounding_shadow are off')
    const { declared, matched, violations } = grounding
    if (violations.length === 0) return passed(`${matched.length} of ${declared.length} citations are in the envelope`)
    const detail = violations
      .slice(0, 5)
      .map(({ code, detail }) => `${code}: ${detail}`)
      .join('; ')
    const data = { declared: declared.length, matched: matched.length, violations: violations.slice(0, 20) }
    if (!settings.completion_grounding_enforce) return { verdict: 'shadow', detail, data }
    if (isTrustRelaxed(settings, trust.reliability)) return { verdict: 'relaxed', detail, data }
    return { verdict: 'fail', detail, atLimit: 'pass', data }
  }
}

/** Returns the citations of an attestation, from its list and from marks in its summary. Trimmed, each once. */
export function declaredRefs(attestation: Attestation | null): readonly string[] {
  const summary = attestation?.completion_summary ?? ''
  const marked = summary.includes('[[') ? [...summary.matchAll(MARKER)].map(([, ref = '']) => ref) : []
  const all = [...(attestation?.evidence_citations ?? []), ...marked].map(ref => ref.trim()).filter(ref => ref !== '')
  return [...new Set(all)].slice(0, MAX_REFS)
}

/**
 * Compares citations with the session's envelope, ignoring case. `envelope`: the result of {@link envelopeText}, or null
 * if there is no envelope; then no citation matches.
 */
export function groundingOf(qgate: QgateContext, attestation: Attestation | null, envelope: string | null): Grounding {
  const declared = declaredRefs(attestation)
  const blob = envelope ?? ''
  const matched = declared.filter(ref => blob.includes(ref.toLowerCase()))
  const violations: Grounding['violations'][number][] = declared
    .filter(ref => !matched.includes(ref))
    .map(ref => ({ code: 'declared_not_in_envelope', detail: ref.slice(0, 120) }))
  const mustCite = qgate.factual_mode === true && (qgate.required_citations ?? 0) > 0 && declared.length === 0
  if (mustCite && statesFacts(attestation?.completion_summary ?? ''))
    violations.push({ code: 'factual_without_declarations', detail: 'the summary states facts and cites nothing' })
  return { declared, matched, violations }
}

/** Returns all text of an envelope that a citation may name, lower-case. */
export function envelopeText({ envelope_id, envelope_type, content }: ContextEnvelope): string {
  const { summary_text, facts = [], repo_paths = [], artifact_refs = [], citations = [], structured_payload } = content
  const parts = [summary_text, ...repo_paths, ...artifact_refs, ...citations, envelope_type, envelope_id]
  for (const { id, text, refs = [] } of facts) parts.push(id, text, ...refs)
  if (structured_payload !== undefined) parts.push(JSON.stringify(structured_payload))
  return parts.join('\n').toLowerCase()
}
