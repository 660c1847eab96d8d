import { evaluateQgate } from '@svc/contracts'
import { qgatePolicy } from '../policy/judge.ts'
import { type Gate, skipped } from './gate.ts'
import { isTrustRelaxed } from './settings.ts'

/** Limits for a task whose capabilities set `is_low_confidence_bypass_blocked`. */
const STRICT_CONFIDENCE = 0.7
const STRICT_CONTRADICTION = 0.3

/** Gate: the evidence is good enough to answer. */
export const qgateGate: Gate = {
  name: 'qgate',
  counter: 'qgate_iterations',
  heading: () => '[QGATE]',
  ask({ task, grounding, settings, trust }) {
    if (task.qgate === undefined) return skipped('the task has no evidence to check')
    if (!settings.qgate_gate_enforce && !settings.qgate_gate_shadow)
      return skipped('qgate_gate_enforce and qgate_gate_shadow are off')
    const evidence = Math.max(task.qgate.evidence_count ?? 0, grounding?.matched.length ?? 0)
    const evaluation = evaluateQgate({ ...task.qgate, evidence_count: evidence }, qgatePolicy(settings.socrates_policy))
    const { decision, confidence, contradiction_ratio } = evaluation
    const isForced = task.qgate.force_research === true || task.capabilities?.force_qgate_research === true
    const isStrict = task.capabilities?.is_low_confidence_bypass_blocked === true
    const isTooThin = isStrict && (confidence < STRICT_CONFIDENCE || contradiction_ratio > STRICT_CONTRADICTION)
    const data = { decision, confidence, contradiction_ratio, coverage: evaluation.coverage, evidence_count: evidence }
    const weighed = `${decision}: confidence ${confidence.toFixed(2)}, contradiction ${contradiction_ratio.toFixed(2)}`
    if (decision === 'Answer' && !isForced && !isTooThin) return { verdict: 'pass', detail: weighed, data }
    const detail = `${weighed}${isForced ? '; research is required' : ''}${isTooThin ? '; too thin for this task' : ''}`
    if (!settings.qgate_gate_enforce) return { verdict: 'shadow', detail, data }
    if (isTrustRelaxed(settings, trust.reliability) && !isTooThin) return { verdict: 'relaxed', detail, data }
    return { verdict: 'fail', detail, atLimit: 'pass', data }
  }
}
