import type { PlanDepth, PlanTask } from '../plan-task.ts'
import { comparisonPenalties, type Penalty, planPenalties } from './plan-penalties.ts'
import { assessTask, type TaskAssessment } from './task-confidence.ts'

const NEUTRAL_COMPLEXITY = 5
const FATIGUED_ESTIMATE = 8
const FATIGUED_TASKS = 4
const SCORE_FLOOR = 0.58
const SCORE_FLOOR_WITH_CODES = 0.82
const RISK_CEILING = 0.32
const MAX_QUESTIONS = 8
/** Weights of the rubric's aspects; their sum is 1. */
const RUBRIC_WEIGHTS = {
  coverage: 0.25,
  dependency_ordering: 0.15,
  destructive_safety: 0.25,
  concreteness: 0.2,
  verification: 0.15
} as const

export interface AdequacyQuestion {
  readonly goal: string
  readonly tasks: readonly PlanTask[]
  /** Complexity from the router, 1 to 10. */
  readonly routerComplexity?: number
  readonly scopeFiles?: number
  readonly depth?: PlanDepth
  /** Whether the user is fatigued; the plan must then be more detailed. */
  readonly fatigued?: boolean
  /** Tasks of the previous round, to detect losses in a rewrite. */
  readonly previous?: readonly PlanTask[]
}

export interface AdequacySummary {
  /** [0, 1]. */
  readonly score: number
  readonly is_too_thin: boolean
  readonly reason_codes: readonly string[]
  readonly detail_target_min_tasks: number
  readonly estimated_goal_complexity: number
  readonly rubric_scores: RubricScores
}

/** Scores from 0 to 10; `total` is the weighted mean of the others. */
export type RubricScores = Readonly<Record<keyof typeof RUBRIC_WEIGHTS | 'total', number>>

export interface AdequacyReport {
  readonly per_task: readonly TaskAssessment[]
  /** Mean of the tasks' missing confidence, [0, 1]; 1 for a plan without tasks. */
  readonly aggregate_unresolved_risk: number
  readonly critical_count: number
  /** At most 8. */
  readonly suggested_clarifying_questions: readonly string[]
  readonly adequacy: AdequacySummary
}

/** Returns the expected complexity of a goal; null if neither the router nor files in scope indicate one. */
export function complexityHint(routerComplexity: number | null, scopeFiles: number): number | null {
  if (scopeFiles >= 4) return Math.max(routerComplexity ?? NEUTRAL_COMPLEXITY, 7)
  if (scopeFiles >= 1) return Math.max(routerComplexity ?? NEUTRAL_COMPLEXITY, 6)
  return routerComplexity
}

/** Returns the estimated complexity of a goal: 2, 4, 6 or 8. */
export function estimateGoal(goal: string, hint: number | null, fatigued = false): number {
  const score = Math.min(10, Math.max(1, hint ?? NEUTRAL_COMPLEXITY))
  const broad = ['compare', 'synthesize', 'across'].some(word => goal.includes(word))
  const estimate = broad || score >= 8 ? 8 : score >= 6 ? 6 : score >= 4 ? 4 : 2
  return fatigued ? Math.max(estimate, FATIGUED_ESTIMATE) : estimate
}

/** Returns the minimum number of tasks of a plan with that estimated complexity. */
export function targetTasks(estimate: number, depth: PlanDepth = 'standard', fatigued = false): number {
  const base = estimate <= 3 ? 1 : estimate <= 5 ? 2 : estimate <= 8 ? 4 : estimate <= 9 ? 6 : 8
  const target = Math.max(1, base + { minimal: -1, standard: 0, deep: 2 }[depth])
  return fatigued ? Math.max(FATIGUED_TASKS, target * 2) : target
}

/** Scores whether a plan is detailed enough for its goal, with a code for each weakness. */
export function assessPlan(question: AdequacyQuestion): AdequacyReport {
  const { goal, tasks, depth, fatigued = false, previous } = question
  const hint = complexityHint(question.routerComplexity ?? null, question.scopeFiles ?? 0)
  const estimate = estimateGoal(goal, hint, fatigued)
  const target = targetTasks(estimate, depth, fatigued)
  const per_task = tasks.map(task => assessTask(task, tasks))
  const risk =
    tasks.length === 0 ? 1 : per_task.reduce((sum, { task_confidence }) => sum + 1 - task_confidence, 0) / tasks.length
  const penalties: readonly Penalty[] = [
    ...planPenalties({ goal, tasks, estimate, target }),
    ...(previous === undefined ? [] : comparisonPenalties(tasks, previous, target))
  ]
  const score = penalties.reduce((product, { factor }) => product * factor, 1)
  const reason_codes = penalties.map(({ code }) => code)
  return {
    per_task,
    aggregate_unresolved_risk: risk,
    critical_count: per_task.filter(({ critical }) => critical).length,
    suggested_clarifying_questions: clarifyingQuestions(per_task, tasks),
    adequacy: {
      score,
      is_too_thin:
        (reason_codes.length > 0 && score < SCORE_FLOOR_WITH_CODES) || score < SCORE_FLOOR || risk > RISK_CEILING,
      reason_codes,
      detail_target_min_tasks: target,
      estimated_goal_complexity: estimate,
      rubric_scores: rubric(tasks, per_task, target)
    }
  }
}

function clarifyingQuestions(assessments: readonly TaskAssessment[], tasks: readonly PlanTask[]): string[] {
  return assessments
    .flatMap(({ task_id, reason_codes }, at) => {
      const has = (code: string) => reason_codes.some(each => each === code)
      const name = `step ${task_id} ("${(tasks[at]?.description ?? '').slice(0, 80)}")`
      if (has('risk_destructive')) return `What exactly may ${name} destroy, and how is it restored?`
      if (has('deps_incomplete_or_order')) return `Which steps must be complete before ${name}?`
      if (has('vague_short') || has('vague_phrase') || has('tbd_placeholder'))
        return `Which files, interfaces and acceptance criteria belong to ${name}?`
      return []
    })
    .slice(0, MAX_QUESTIONS)
}

/**
 * Scores each aspect from 0 to 10: the share of tasks without its codes, or for coverage the share of the target. The score
 * for verification is halved if no task mentions tests or checks.
 */
function rubric(tasks: readonly PlanTask[], assessments: readonly TaskAssessment[], target: number): RubricScores {
  const without = (...codes: string[]) =>
    tasks.length === 0
      ? 0
      : (10 * assessments.filter(each => !each.reason_codes.some(code => codes.includes(code))).length) / tasks.length
  const verifies = tasks.some(({ description }) => /test|verif|validat|check/i.test(description))
  const scores = {
    coverage: 10 * Math.min(1, tasks.length / target),
    dependency_ordering: without('deps_incomplete_or_order'),
    destructive_safety: without('risk_destructive'),
    concreteness: without('vague_short', 'vague_phrase', 'tbd_placeholder'),
    verification: without('heavy_without_test_hint') / (verifies ? 1 : 2)
  }
  const names = Object.keys(RUBRIC_WEIGHTS) as (keyof typeof RUBRIC_WEIGHTS)[]
  return { ...scores, total: names.reduce((sum, name) => sum + RUBRIC_WEIGHTS[name] * scores[name], 0) }
}
