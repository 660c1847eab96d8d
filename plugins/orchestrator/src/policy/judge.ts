import {
  defaultQgatePolicy,
  evaluateQgate,
  evidenceCoverage,
  orchestrationErrors,
  type QgatePolicy,
  type TrustView
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { Settings } from '../settings.ts'
import type { Judgement, JudgePort, TaskToJudge } from '../state/ports.ts'
import { type ApprovalDecision, approvalTier } from './approval-tier.ts'
import { externalIntent, hasHumanApproval } from './external-intent.ts'
import { attentionWeight, type BurdenSettings } from './interruption-cost.ts'
import { canonicalText } from './prompt-canonical.ts'
import { findConflicts } from './prompt-conflicts.ts'
import { findInjection } from './prompt-injection.ts'
import { type TestVerdict, testDecision } from './test-decision.ts'
import { workTokens } from './token-estimate.ts'

export type JudgeSettings = BurdenSettings & Pick<Settings, 'tier_gate' | 'qgate_gate_enforce' | 'socrates_policy'>

/** Dependencies of the judge. */
export interface JudgeDependencies {
  readonly settings: () => JudgeSettings
  readonly trust: {
    of(agent: number): TrustView
    approvals(agent: number): { readonly count: number; readonly entropy: number }
  }
  /** Returns the number of recently rejected requests, and of tasks that need the user now. */
  readonly demand: () => { readonly rejections: number; readonly concurrent: number }
}

/** Judges a task before it is queued: its approval tier, the cost of a review, and whether it needs tests. */
export class Judge implements JudgePort {
  readonly #deps: JudgeDependencies

  constructor(deps: JudgeDependencies) {
    this.#deps = deps
  }

  judge(task: TaskToJudge, agent: number): Judgement {
    const settings = this.#deps.settings()
    const trust = this.#deps.trust.of(agent)
    const { tier, because } = this.#tier(task, trust)
    const { rejections, concurrent } = this.#deps.demand()
    const weight = attentionWeight(settings, {
      complexity: task.complexity,
      tokens: workTokens(task.category, task.complexity),
      priority: task.priority,
      recentRejections: rejections,
      trust: trust.score,
      concurrent
    })
    return { tier, because, attentionWeight: weight, test: this.test(task).decision }
  }

  /** Decides whether a task must include tests, and why. */
  test(task: Pick<TaskToJudge, 'description' | 'files' | 'complexity' | 'qgate'>): TestVerdict {
    const { description, files, complexity, qgate } = task
    if (qgate === undefined) return testDecision({ description, files, complexity })
    const { band } = evaluateQgate(qgate, qgatePolicy(this.#deps.settings().socrates_policy))
    return testDecision({ description, files, complexity, band, evidenceGap: 1 - evidenceCoverage(qgate) })
  }

  screen(description: string): { readonly description: string; readonly warnings: readonly string[] } {
    const canonical = canonicalText(description)
    const injection = findInjection(canonical)
    if (injection !== null)
      throw orchestrationErrors.create(
        'ORC_INJECTION',
        `Prompt injection detected: the description contains a forbidden ${injection.marker.replace('_', ' ')}, "${injection.found}"`,
        {
          hint: 'remove it, or put it between backticks or quotes if the description only mentions it',
          data: { marker: injection.marker }
        }
      )
    return { description: canonical, warnings: findConflicts(canonical) }
  }

  admitEvidence(task: TaskToJudge): void {
    const settings = this.#deps.settings()
    if (!settings.qgate_gate_enforce || task.qgate === undefined) return
    const { decision, confidence } = evaluateQgate(task.qgate, qgatePolicy(settings.socrates_policy))
    if (decision !== 'Abstain') return
    throw orchestrationErrors.create(
      'ORC_SCOPE_DENIED',
      `Scope denied: the quality gate abstains; its confidence in the evidence is only ${confidence.toFixed(2)}`,
      { hint: 'gather evidence first: more citations, or a verified retrieval', data: { confidence } }
    )
  }

  #tier(task: TaskToJudge, trust: TrustView): ApprovalDecision {
    const { count, entropy } = this.#deps.trust.approvals(trust.agent_id)
    let writes = 0
    for (const { access } of task.files) if (access === 'write') writes += 1
    const external = externalIntent(task.description, task.files)
    const mayBlock = external !== null || trust.tier === 'Untrusted'
    const approved = mayBlock && hasHumanApproval(task.description, task.approvals)
    const facts = { external, writes, tier: trust.tier, trust: trust.score, approvals: count, entropy, approved }
    return approvalTier(this.#deps.settings().tier_gate, facts)
  }
}

/** Returns the policy of the quality gate: the defaults, overridden by the settings. */
export function qgatePolicy(overrides: JudgeSettings['socrates_policy']): QgatePolicy {
  return { ...defaultQgatePolicy, ...defined(overrides) }
}
