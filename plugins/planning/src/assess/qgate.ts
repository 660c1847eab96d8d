import { type QgatePolicy, type QuestionOutcome, qgateDecision, riskBand } from '@svc/contracts'
import type { PlanTask } from '../plan-task.ts'
import type { AdequacyReport } from './adequacy.ts'
import { realFiles } from './task-confidence.ts'

export interface PlanQgate {
  readonly risk_decision: 'Answer' | 'Ask' | 'Abstain'
  /** Score of the plan times (1 - unresolved risk), [0, 1]. */
  readonly confidence_estimate: number
  /** By the number of tasks with invalid dependencies: 0, 0.15, 0.28, then 0.22 for each task, at most 1. */
  readonly contradiction_ratio: number
  /** Share of tasks that name a file, [0, 1]. */
  readonly citation_coverage: number
  readonly questioning: {
    readonly question_needed: boolean
    readonly question_kind: 'open_ended' | null
    readonly prompt: string | null
    readonly expected_information_gain_bits: number
    readonly expected_user_cost: number
    readonly utility_bits_per_cost: number
    readonly stop_reason: string | null
  }
}

/** Returns the expected information gain, in bits, of a plan's first question; it grows with the unresolved risk. */
export function questionGain(risk: number): number {
  return Math.min(0.6, 0.08 + risk)
}

/** Cost of a question to the user, on the scale of the questioning policy. */
export const QUESTION_COST = 0.35

export function planConfidence({ adequacy, aggregate_unresolved_risk }: AdequacyReport): number {
  return adequacy.score * (1 - aggregate_unresolved_risk)
}

export function contradictionRatio({ per_task }: AdequacyReport): number {
  const hints = per_task.filter(({ reason_codes }) => reason_codes.includes('deps_incomplete_or_order')).length
  return hints <= 2 ? ([0, 0.15, 0.28][hints] ?? 0) : Math.min(1, 0.22 * hints)
}

/** Returns the quality gate's view of a plan, with the outcome of its question. */
export function planQgate(
  report: AdequacyReport,
  tasks: readonly PlanTask[],
  outcome: QuestionOutcome | null,
  policy: QgatePolicy
): PlanQgate {
  const confidence = planConfidence(report)
  const ratio = contradictionRatio(report)
  const coverage = tasks.length === 0 ? 0 : tasks.filter(task => realFiles(task).length > 0).length / tasks.length
  const prompt = report.suggested_clarifying_questions[0] ?? null
  const gain = prompt === null ? 0 : questionGain(report.aggregate_unresolved_risk)
  return {
    risk_decision: qgateDecision(riskBand(confidence, ratio, coverage, policy)),
    confidence_estimate: confidence,
    contradiction_ratio: ratio,
    citation_coverage: coverage,
    questioning: {
      question_needed: outcome?.asked ?? false,
      question_kind: prompt === null ? null : 'open_ended',
      prompt,
      expected_information_gain_bits: gain,
      expected_user_cost: prompt === null ? 0 : QUESTION_COST,
      utility_bits_per_cost: outcome?.utility_bits_per_cost ?? (prompt === null ? 0 : gain / QUESTION_COST),
      stop_reason: outcome?.stop_reason ?? null
    }
  }
}
