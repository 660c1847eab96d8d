import { t } from '@svc/plugin-sdk'
import { flag, integer, milliseconds, ratio, real, table } from './declare.ts'

/** Trust, tiers of approval, attention, and what may be spent. */
export const policy = {
  tier_enforcement: flag(true, 'Whether tiers of approval refuse and gate tasks; where not, they are only noted.', {
    live: true
  }),
  trust_ewma_alpha: real(0.1, [0.01, 1], 'Weight of the newest outcome in an agent’s trust.', {
    env: 'TRUST_EWMA_ALPHA'
  }),
  trust_provisional_threshold: integer(5, [0, 1_000_000], 'Outcomes before an agent can be Provisional.', {
    env: 'TRUST_PROVISIONAL_THRESHOLD'
  }),
  trust_trusted_threshold: integer(20, [0, 1_000_000], 'Outcomes before an agent can be Trusted.', {
    env: 'TRUST_TRUSTED_THRESHOLD'
  }),
  trust_task_completion_floor: ratio(0.25, 'Trust below which an agent is not routed to and has to show checks.'),
  trust_task_completion_weight: real(1.5, [0, 1_000], 'Weight of trust in the score of routing by reputation.'),
  qgate_reputation_routing: flag(false, 'Whether reliability counts where tasks are routed.', {
    env: 'QGATE_REPUTATION_ROUTING'
  }),
  qgate_reputation_weight: real(1, [0, 1_000], 'Weight of reliability there.', { env: 'QGATE_REPUTATION_WEIGHT' }),
  tier_gate: table({
    entropy_auto_approve_threshold: real(
      0.15,
      [0, 1],
      'Bits of an agent’s outcomes below which it may be approved unseen.',
      {
        env: 'TIER_GATE_ENTROPY_THRESHOLD'
      }
    ),
    min_observations: integer(10, [0, 1_000_000], 'Approvals before that.', { env: 'TIER_GATE_MIN_OBSERVATIONS' }),
    untrusted_max_writes_before_block: integer(
      3,
      [0, 1_000_000],
      'Files that an Untrusted agent may write in one task.'
    ),
    trusted_single_file_confirm_limit: integer(
      1,
      [0, 1_000_000],
      'Files that a Trusted agent may write without a review.'
    ),
    auto_approve_min_trust: ratio(0.85, 'Trust before a task is approved unseen.', { env: 'TRUST_AUTO_APPROVE_MIN' })
  }),
  attention_enabled: flag(false, 'Whether a person’s attention has a budget that interruptions are held against.', {
    env: 'ATTENTION_ENABLED'
  }),
  attention_budget_ms: milliseconds(3_600_000, 1, 'Milliseconds of attention that there are.', {
    env: 'ATTENTION_BUDGET_MS'
  }),
  attention_alert_threshold: ratio(0.7, 'Share spent from which on interruptions are weighed harder.', {
    env: 'ATTENTION_ALERT_THRESHOLD'
  }),
  attention_interrupt_cost_ms: milliseconds(
    23_250,
    1,
    'Milliseconds that one interruption costs, before it is weighed.',
    {
      env: 'ATTENTION_INTERRUPT_COST_MS'
    }
  ),
  attention_trust_routing_weight: real(2, [0, 1_000], 'How much an agent’s uncertainty draws tasks to it.', {
    env: 'ATTENTION_TRUST_ROUTING_WEIGHT'
  }),
  interruption_calibration: table({
    task_submit_gain: real(0, [-10, 10], 'Bits added to what a question about a submitted task is expected to gain.'),
    inline_assist_gain: real(0, [-10, 10], 'The same during typing.'),
    a2a_gain: real(0, [-10, 10], 'The same for messages between agents.', { env: 'INTERRUPTION_CAL_A2A_GAIN' }),
    plan_gain: real(0, [-10, 10], 'The same for plans.', { env: 'INTERRUPTION_CAL_PLAN_GAIN' }),
    backlog_penalty: real(0.05, [0, 10], 'Bits taken from it for each question that waits.', {
      env: 'INTERRUPTION_CAL_BACKLOG_PENALTY'
    }),
    trust_adjustment_scale: real(1, [0, 10], 'Factor of trust in it.')
  }),
  tlx_mental: ratio(0.35, 'Weight of mental demand in the cost of an interruption.', { env: 'TLX_MENTAL' }),
  tlx_temporal: ratio(0.25, 'Weight of haste.', { env: 'TLX_TEMPORAL' }),
  tlx_frustration: ratio(0.2, 'Weight of recent refusals.', { env: 'TLX_FRUSTRATION' }),
  tlx_trust_discount: ratio(0.2, 'Weight of missing trust.', { env: 'TLX_TRUST_DISCOUNT' }),
  agent_max_tokens: integer(100_000, [0, Number.MAX_SAFE_INTEGER], 'Tokens that one agent may spend.'),
  agent_max_cost_usd: real(5, [0, 1_000_000], 'US dollars that one agent may spend.'),
  tenant_max_cost_usd: t.optional(
    t.number({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'US dollars that one tenant may spend. Default: no limit.'
    })
  ),
  exec_time_budget_enabled: flag(true, 'Whether the time that tools are given follows from how long they took.', {
    env: 'EXEC_TIME_BUDGET_ENABLED'
  }),
  exec_time_safety_multiplier: real(2, [0.1, 1_000], 'Factor of the 90th percentile in that.', {
    env: 'EXEC_TIME_SAFETY_MULTIPLIER'
  }),
  exec_time_timeout_rate_alert: ratio(0.2, 'Share of timeouts above which a tool counts as slow.', {
    env: 'EXEC_TIME_TIMEOUT_RATE_ALERT'
  }),
  exec_time_default_budget_ms: milliseconds(30_000, 1, 'Milliseconds for a tool that nothing is known of.', {
    env: 'EXEC_TIME_DEFAULT_BUDGET_MS'
  }),
  exec_time_history_window_days: integer(30, [1, 36_500], 'Days that count.', { env: 'EXEC_TIME_HISTORY_WINDOW_DAYS' })
}
