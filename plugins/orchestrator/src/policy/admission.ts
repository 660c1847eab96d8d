import { createHash } from 'node:crypto'
import {
  type Admission,
  type AgentEventKind,
  contradictionRatio,
  evaluateQgate,
  type InterruptionDecision,
  orchestrationErrors,
  type QgatePolicy,
  type SubmitRequest
} from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type { JudgePort } from '../state/ports.ts'
import type { AttentionLedger } from './attention.ts'
import { hasHumanApproval } from './external-intent.ts'
import { submitSignals } from './interruption-signals.ts'
import { findConflicts } from './prompt-conflicts.ts'

export interface AdmissionDependencies {
  readonly attention: AttentionLedger
  readonly judge: Pick<JudgePort, 'screen'>
  readonly qgatePolicy: () => QgatePolicy
  /** Receives `injection_detected` and `prompt_conflict_detected`. */
  readonly notify: (event: AgentEventKind) => void
}

/**
 * Checks an external request and normalises its description, in this order:
 *
 * 1. The attention budget, if enabled. Throws `ORC_ATTENTION_EXHAUSTED`.
 * 2. The interruption policy. Throws `ORC_HUMAN_REQUIRED` if a human must approve; other outcomes are only recorded.
 * 3. The description. Throws `ORC_INJECTION`.
 */
export function admit(deps: AdmissionDependencies, request: SubmitRequest, surface: string): Admission {
  checkAttention(deps, request, surface)
  const original = request.description
  const screened = screen(deps, original)
  const warnings = [...screened.warnings, ...findConflicts(screened.description, request.files)]
  const unique = [...new Set(warnings)]
  if (unique.length > 0) deps.notify({ type: 'prompt_conflict_detected', task_id: 0, warnings: unique })
  const isChanged = screened.description !== original
  return {
    request: isChanged ? { ...request, description: screened.description } : request,
    prompt_canonicalized: isChanged,
    original_prompt_hash: createHash('sha256').update(original, 'utf8').digest('hex'),
    warnings: unique
  }
}

function checkAttention(
  { attention, qgatePolicy }: AdmissionDependencies,
  request: SubmitRequest,
  surface: string
): void {
  if (!attention.enabled) return
  if (attention.exhausted) {
    const { spent_ms, max_attention_ms } = attention.state()
    throw orchestrationErrors.create(
      'ORC_ATTENTION_EXHAUSTED',
      `Attention budget exhausted: ${Math.round(spent_ms)} ms of ${max_attention_ms} ms are spent`,
      { hint: 'reset the attention budget, or raise attention_budget_ms in [orchestrator]' }
    )
  }
  const decision = attention.decide(signalsOf(qgatePolicy(), request, surface))
  if (decision.decision !== 'RequireHuman' || hasHumanApproval(request.description, request.approvals ?? [])) return
  throw humanRequired(decision)
}

function signalsOf(policy: QgatePolicy, request: SubmitRequest, surface: string) {
  const { description, files, priority = 'Normal', hints } = request
  const evidence = hints?.qgate
  return submitSignals({
    surface,
    description,
    files: files.length,
    priority,
    ...(evidence === undefined
      ? {}
      : {
          confidence: evaluateQgate(evidence, policy).confidence,
          contradiction_ratio: contradictionRatio(evidence.contradiction_hints ?? 0)
        })
  })
}

function humanRequired({ reason, rule }: InterruptionDecision) {
  return orchestrationErrors.create('ORC_HUMAN_REQUIRED', `Human approval required: ${reason}`, {
    hint: 'after a human has approved the task, submit it again with [human-approved] in its description',
    data: { rule }
  })
}

function screen({ judge, notify }: AdmissionDependencies, description: string) {
  try {
    return judge.screen(description)
  } catch (error) {
    notify({ type: 'injection_detected', detail: errorMessage(error) })
    throw error
  }
}
