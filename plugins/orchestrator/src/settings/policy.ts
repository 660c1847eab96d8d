import { t } from '@svc/plugin-sdk'
import { flag, integer, milliseconds, number, ratio, table } from './declare.ts'

/** Settings for trust, approval tiers, attention and budgets. */
export const policy = {
  tier_enforcement: flag(
    true,
    'Whether approval tiers are enforced at submission and completion; if not, they are only recorded.',
    {
      live: true
    }
  ),
  trust_ewma_alpha: number(0.1, [0.01, 1], 'Weight of the newest outcome in an agent’s trust.', {
    env: 'TRUST_EWMA_ALPHA'
  }),
  trust_provisional_threshold: integer(5, [0, 1_000_000], 'Outcomes before an agent can be Provisional.', {
    env: 'TRUST_PROVISIONAL_THRESHOLD'
  }),
  trust_trusted_threshold: integer(20, [0, 1_000_000], 'Outcomes before an agent can be Trusted.', {
    env: 'TRUST_TRUSTED_THRESHOLD'
  }),
  trust_task_completion_floor: ratio(
    0.25,
    'Trust in completing tasks below which an agent gets no tasks and must name passed checks.'
  ),
  trust_task_completion_weight: number(
    1.5,
    [0, 1_000],
    'Weight of trust in completing tasks, if routing uses reputation.'
  ),
  qgate_reputation_routing: flag(
    false,
    'Whether routing uses the reputation of agents: reliability, skills and trust.',
    {
      env: 'QGATE_REPUTATION_ROUTING'
    }
  ),
  qgate_reputation_weight: number(1, [0, 1_000], 'Weight of reliability in routing.', {
    env: 'QGATE_REPUTATION_WEIGHT'
  }),
  tier_gate: table({
    entropy_auto_approve_threshold: number(
      0.15,
      [0, 1],
      'Entropy of an agent’s outcomes, in bits, below which its work may be auto-approved.',
      {
        env: 'TIER_GATE_ENTROPY_THRESHOLD'
      }
    ),
    min_observations: integer(10, [0, 1_000_000], 'Minimum approvals before work may be auto-approved.', {
      env: 'TIER_GATE_MIN_OBSERVATIONS'
    }),
    untrusted_max_writes_before_block: integer(
      3,
      [0, 1_000_000],
      'Maximum files that an Untrusted agent may write in one task.'
    ),
    trusted_single_file_confirm_limit: integer(
      1,
      [0, 1_000_000],
      'Maximum files that a Trusted agent may write without a review.'
    ),
    auto_approve_min_trust: ratio(0.85, 'Minimum trust before work may be auto-approved.', {
      env: 'TRUST_AUTO_APPROVE_MIN'
    })
  }),
  attention_enabled: flag(false, 'Whether interruptions are charged to an attention budget.', {
    env: 'ATTENTION_ENABLED'
  }),
  attention_budget_ms: milliseconds(3_600_000, 1, 'Attention budget in milliseconds.', {
    env: 'ATTENTION_BUDGET_MS'
  }),
  attention_alert_threshold: ratio(
    0.7,
    'Share of the attention budget spent above which an alert is sent and interruptions are rarer.',
    {
      env: 'ATTENTION_ALERT_THRESHOLD'
    }
  ),
  attention_interrupt_cost_ms: milliseconds(23_250, 1, 'Base cost of one interruption in milliseconds.', {
    env: 'ATTENTION_INTERRUPT_COST_MS'
  }),
  attention_trust_routing_weight: number(
    2,
    [0, 1_000],
    'Weight of an agent’s uncertainty in routing, for exploration.',
    {
      env: 'ATTENTION_TRUST_ROUTING_WEIGHT'
    }
  ),
  interruption_calibration: table({
    task_submit_gain: number(0, [-10, 10], 'Bits added to the expected gain of a question about a submitted task.'),
    inline_assist_gain: number(
      0,
      [-10, 10],
      'Bits added to the expected gain of a question from the inline assistant.'
    ),
    a2a_gain: number(0, [-10, 10], 'Bits added to the expected gain of a question between agents.', {
      env: 'INTERRUPTION_CAL_A2A_GAIN'
    }),
    plan_gain: number(0, [-10, 10], 'Bits added to the expected gain of a question about a plan.', {
      env: 'INTERRUPTION_CAL_PLAN_GAIN'
    }),
    backlog_penalty: number(0.05, [0, 10], 'Bits subtracted from the expected gain for each pending question.', {
      env: 'INTERRUPTION_CAL_BACKLOG_PENALTY'
    }),
    trust_adjustment_scale: number(1, [0, 10], 'Factor of an agent’s trust when a question is judged.')
  }),
  tlx_mental: ratio(0.35, 'Weight of mental demand in the cost of an interruption.', { env: 'TLX_MENTAL' }),
  tlx_temporal: ratio(0.25, 'Weight of time pressure in the cost of an interruption.', { env: 'TLX_TEMPORAL' }),
  tlx_frustration: ratio(0.2, 'Weight of recent rejections in the cost of an interruption.', {
    env: 'TLX_FRUSTRATION'
  }),
  tlx_trust_discount: ratio(0.2, 'Weight of missing trust in the cost of an interruption.', {
    env: 'TLX_TRUST_DISCOUNT'
  }),
  agent_max_tokens: integer(100_000, [0, Number.MAX_SAFE_INTEGER], 'Token budget of one agent.'),
  agent_max_cost_usd: number(5, [0, 1_000_000], 'Budget of one agent in US dollars.'),
  tenant_max_cost_usd: t.optional(
    t.number({
      minimum: 0,
      maximum: 1_000_000_000,
      description: 'Budget of one tenant in US dollars. Default: no limit.'
    })
  ),
  exec_time_budget_enabled: flag(true, 'Whether timeouts of tools are computed from their past durations.', {
    env: 'EXEC_TIME_BUDGET_ENABLED'
  }),
  exec_time_safety_multiplier: number(
    2,
    [0.1, 1_000],
    'Timeout of a tool as a multiple of the 90th percentile of its durations.',
    {
      env: 'EXEC_TIME_SAFETY_MULTIPLIER'
    }
  ),
  exec_time_timeout_rate_alert: ratio(0.2, 'Share of timed-out calls above which a tool counts as slow.', {
    env: 'EXEC_TIME_TIMEOUT_RATE_ALERT'
  }),
  exec_time_default_budget_ms: milliseconds(30_000, 1, 'Timeout in milliseconds of a tool without past calls.', {
    env: 'EXEC_TIME_DEFAULT_BUDGET_MS'
  }),
  exec_time_history_window_days: integer(30, [1, 36_500], 'Days of past calls that count.', {
    env: 'EXEC_TIME_HISTORY_WINDOW_DAYS'
  })
}
