import { defined, t } from '@svc/plugin-sdk'
import { annotations, flag, integer, ratio, table } from './declare.ts'

const optionalRatio = (description: string, aliases?: readonly string[]) =>
  t.optional(t.number({ minimum: 0, maximum: 1, description, ...annotations({ ...defined({ aliases }) }) }))
const optionalPercent = (description: string) => t.optional(t.integer({ minimum: 0, maximum: 100, description }))

/** Settings for the gates that a task must pass before it is complete. */
export const gates = {
  stubcheck_gate: flag(true, 'Whether written files are scanned for placeholders.', {
    env: 'STUBCHECK_GATE',
    live: true
  }),
  max_debug_iterations: integer(3, [0, 255], 'Maximum requeues by a gate without a separate limit.', {
    env: 'MAX_DEBUG_ITERATIONS',
    live: true
  }),
  max_stubcheck_debug_iterations: integer(3, [0, 255], 'Maximum requeues by the gates for trust and placeholders.', {
    env: 'MAX_STUBCHECK_DEBUG_ITERATIONS',
    live: true
  }),
  max_qgate_debug_iterations: integer(3, [0, 255], 'Maximum requeues by the gates for quality and grounding.', {
    env: 'MAX_QGATE_DEBUG_ITERATIONS',
    live: true
  }),
  qgate_gate_shadow: flag(false, 'Whether the quality gate is evaluated and only logged.', {
    env: 'QGATE_GATE_SHADOW',
    live: true
  }),
  qgate_gate_enforce: flag(
    false,
    'Whether the quality gate requeues tasks, and rejects those with too little evidence.',
    {
      env: 'QGATE_GATE_ENFORCE',
      live: true
    }
  ),
  completion_grounding_shadow: flag(false, 'Whether citations without a source are logged.', {
    env: 'COMPLETION_GROUNDING_SHADOW',
    live: true
  }),
  completion_grounding_enforce: flag(false, 'Whether citations without a source requeue a task.', {
    env: 'COMPLETION_GROUNDING_ENFORCE',
    live: true
  }),
  harness_completion_guard: t.enum(['off', 'shadow', 'warn', 'enforce', 'strict'], {
    default: 'off',
    'x-env': 'SVC_ORCHESTRATOR_HARNESS_COMPLETION_GUARD',
    'x-reload': 'live',
    description: 'Effect of missing harness outputs: none (off), logged (shadow, warn), or required (enforce, strict).'
  }),
  behavioral_gate_on_complete: flag(false, 'Whether the project’s tests must pass before a task is complete.', {
    live: true
  }),
  behavioral_gate_command: t.optional(
    t.string({
      minLength: 1,
      'x-reload': 'live',
      description: 'Command line of the project’s tests. Default: detected from the project’s files.'
    })
  ),
  completion_markdown_link_audit_enabled: flag(
    false,
    'Whether file links in Markdown files that a task wrote must have a target.',
    {
      live: true
    }
  ),
  trust_gate_relax_enabled: flag(false, 'Whether reliable agents skip the gates for quality, grounding and scope.', {
    env: 'TRUST_GATE_RELAX_ENABLED',
    live: true
  }),
  trust_gate_relax_min_reliability: ratio(0.85, 'Minimum reliability of an agent to skip these gates.', {
    env: 'TRUST_GATE_RELAX_MIN_RELIABILITY',
    live: true
  }),
  socrates_policy: table({
    abstain_threshold: optionalRatio('Confidence below which the quality gate abstains. Default 0.35.'),
    ask_for_help_threshold: optionalRatio('Confidence below which the quality gate asks for help. Default 0.55.'),
    max_contradiction_ratio_for_answer: optionalRatio(
      'Ratio of contradictions above which the quality gate asks or abstains. Default 0.40.',
      ['max_contradiction_ratio']
    ),
    min_persist_confidence: optionalRatio(
      'Confidence below which retrieved evidence is not stored in a session. Default 0.60.'
    ),
    min_training_pair_confidence: optionalRatio(
      'Confidence below which a broadcast is not written to the dogfood trace. Default 0.75.'
    ),
    min_review_finding_confidence: optionalPercent(
      'Confidence in percent below which findings of other reviewers are not reported. Default 80.'
    ),
    min_prompt_report_confidence: optionalPercent(
      'Confidence in percent that the prompt of the chat requires of a reported problem. Default 80.'
    )
  })
}
