import { agentLabel, type Handoff, orchestrationErrors } from '@svc/contracts'

const DEFAULT_TIMEOUT_MS = 3_600_000

/** Markers that only the raw transcript of a model contains. */
const TRANSCRIPT_MARKERS = ['<|im_start|>', '<|im_end|>', '\nHuman:', '\nAssistant:', '[INST]', '[/INST]', '<<SYS>>']

/** Validates a handoff. Throws `ORC_HANDOFF_STALE` and `ORC_HANDOFF_INVALID`. */
export function assertHandoff(payload: Handoff, now: number): void {
  const { created_at = now, timeout_ms = DEFAULT_TIMEOUT_MS } = payload
  if (now - created_at > timeout_ms)
    throw orchestrationErrors.create(
      'ORC_HANDOFF_STALE',
      `Stale handoff: ${agentLabel(payload.from_agent)} created it ${now - created_at} ms ago; the limit is ${timeout_ms} ms`,
      { hint: 'create a new handoff from the current state' }
    )
  const metadata = new Map(payload.metadata ?? [])
  if ((payload.pending_tasks?.length ?? 0) > 0) {
    if ((payload.verification_criteria?.length ?? 0) === 0)
      throw invalid('with pending tasks, verification_criteria needs at least one entry')
    if (!metadata.has('execution_role')) throw invalid('with pending tasks, metadata needs an execution_role')
  }
  for (const key of ['context_envelope_json', 'harness_spec_json']) {
    const text = metadata.get(key)
    if (text !== undefined && !isJson(text)) throw invalid(`${key} in metadata is not valid JSON`)
  }
  if ((payload.a2a_context_uri === undefined) !== (payload.obo_token === undefined))
    throw invalid('a2a_context_uri and obo_token must be set together')
  for (const [field, text] of textsOf(payload)) {
    const marker = TRANSCRIPT_MARKERS.find(each => `\n${text}`.includes(each))
    if (marker !== undefined)
      throw invalid(`${field} looks like a raw transcript: it contains ${JSON.stringify(marker.trim())}`)
  }
}

function* textsOf(payload: Handoff): Iterable<readonly [field: string, text: string]> {
  yield ['plan_summary', payload.plan_summary]
  if (payload.context_notes !== undefined) yield ['context_notes', payload.context_notes]
  for (const text of payload.unresolved_objectives ?? []) yield ['unresolved_objectives', text]
  for (const text of payload.verification_criteria ?? []) yield ['verification_criteria', text]
  for (const { event } of payload.execution_history ?? []) yield ['execution_history', event]
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function invalid(problem: string): Error {
  return orchestrationErrors.create('ORC_HANDOFF_INVALID', `Handoff invariant: ${problem}`, {
    hint: 'correct the handoff, and send it again'
  })
}
