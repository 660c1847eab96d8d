import { t } from '@svc/plugin-sdk'
import { flag, integer, ratio, table } from './declare.ts'

const optionalRatio = (description: string) => t.optional(t.number({ minimum: 0, maximum: 1, description }))

/** Gates that a task has to pass before it is complete. */
export const gates = {
  stubcheck_gate: flag(true, 'Whether what was made is looked through for placeholders.', {
    env: 'STUBCHECK_GATE',
    live: true
  }),
  max_debug_iterations: integer(3, [0, 255], 'How often gates without a separate limit send a task back.', {
    env: 'MAX_DEBUG_ITERATIONS',
    live: true
  }),
  max_stubcheck_debug_iterations: integer(3, [0, 255], 'How often the gates for trust and placeholders do.', {
    env: 'MAX_STUBCHECK_DEBUG_ITERATIONS',
    live: true
  }),
  max_qgate_debug_iterations: integer(3, [0, 255], 'How often the gates for quality and grounding do.', {
    env: 'MAX_QGATE_DEBUG_ITERATIONS',
    live: true
  }),
  qgate_gate_shadow: flag(false, 'Whether the quality gate is evaluated and only logged.', {
    env: 'QGATE_GATE_SHADOW',
    live: true
  }),
  qgate_gate_enforce: flag(false, 'Whether the quality gate sends tasks back, and refuses those without a basis.', {
    env: 'QGATE_GATE_ENFORCE',
    live: true
  }),
  completion_grounding_shadow: flag(false, 'Whether citations without a source are logged.', {
    env: 'COMPLETION_GROUNDING_SHADOW',
    live: true
  }),
  completion_grounding_enforce: flag(false, 'Whether citations without a source send a task back.', {
    env: 'COMPLETION_GROUNDING_ENFORCE',
    live: true
  }),
  harness_completion_guard: t.enum(['off', 'shadow', 'warn', 'enforce', 'strict'], {
    default: 'off',
    'x-env': 'SVC_ORCHESTRATOR_HARNESS_COMPLETION_GUARD',
    'x-reload': 'live',
    description:
      'Whether outputs that a task’s harness asks for must be there: no, logged (shadow, warn), yes (enforce, strict).'
  }),
  behavioral_gate_on_complete: flag(false, 'Whether the project’s tests must pass before a task is complete.', {
    live: true
  }),
  behavioral_gate_command: t.optional(
    t.string({
      minLength: 1,
      'x-reload': 'live',
      description: 'Command line of those tests, run in the project. Default: what the project’s files say.'
    })
  ),
  completion_markdown_link_audit_enabled: flag(
    false,
    'Whether links between documents that a task wrote must lead somewhere.',
    {
      live: true
    }
  ),
  trust_gate_relax_enabled: flag(
    false,
    'Whether a reliable agent is spared what quality, grounding and scope would refuse.',
    {
      env: 'TRUST_GATE_RELAX_ENABLED',
      live: true
    }
  ),
  trust_gate_relax_min_reliability: ratio(0.85, 'Reliability from which on it is.', {
    env: 'TRUST_GATE_RELAX_MIN_RELIABILITY',
    live: true
  }),
  socrates_policy: table({
    abstain_threshold: optionalRatio('Confidence below which the quality gate abstains. Default 0.35.'),
    ask_for_help_threshold: optionalRatio('Confidence below which it asks. Default 0.55.'),
    max_contradiction_ratio: optionalRatio('Ratio of contradictions above which it asks or abstains. Default 0.40.')
  })
}
