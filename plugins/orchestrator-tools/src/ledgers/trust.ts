import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { agentOf } from '../agents/lifecycle.ts'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, trustTier } from '../fields.ts'
import { tool } from '../tool.ts'

const TRUST_FIELDS = ['agent_id', 'score', 'tier', 'outcomes', 'overridden', 'reliability']

const trust = t.object({
  agent_id: t.integer(),
  score: t.number(),
  tier: trustTier,
  outcomes: t.integer(),
  overridden: t.boolean(),
  reliability: t.number()
})

const trustOverride = defineOperation({
  id: 'orchestrator.trustOverride',
  summary: 'Set the trust of an agent',
  input: t.object({
    agent_id: agentId,
    tier: t.optional(trustTier),
    score: t.optional(t.number({ minimum: 0, maximum: 1, description: 'New score from 0 to 1.' })),
    reason: t.string({ minLength: 1, maxLength: 4_096, description: 'Why the trust is set.' })
  }),
  output: trust,
  errors: orchestrationErrors.specs,
  expose: {
    mcp: tool('trust_override', {
      toolsets: ['agents'],
      use: 'Only when the user decides so: trust normally follows from results. Read it with svc_agent_assess.'
    }),
    rpc: true,
    cli: {
      command: 'orch agents trust',
      args: ['agent_id', 'reason', 'tier'],
      view: { fields: TRUST_FIELDS }
    }
  }
})

function trustOverrideHandler({ orchestrator }: Dependencies): Handler<typeof trustOverride> {
  return async ({ agent_id, tier, score, reason }) => {
    const { id } = agentOf(orchestrator, agent_id)
    return { ...(await orchestrator.trust.override(id, tier ?? null, score ?? null, reason)) }
  }
}

const agentAssess = defineOperation({
  id: 'orchestrator.agentAssess',
  summary: 'Show the load, trust and spending of an agent',
  input: t.object({ agent_id: agentId }),
  output: t.object({ agent: t.record(t.unknown()), trust, budget: t.record(t.unknown()) }),
  errors: orchestrationErrors.specs,
  effect: 'read',
  expose: {
    mcp: tool('agent_assess', {
      toolsets: ['agents'],
      use: 'One agent in detail, to decide on a handoff or a budget. For all agents use svc_agent_status.'
    }),
    rpc: true,
    cli: {
      command: 'orch agents assess',
      args: ['agent_id'],
      view: {
        fields: [
          ...['agent.id', 'agent.name', 'agent.paused', 'agent.current_task', 'agent.queued', 'agent.completed'],
          ...['agent.weighted_load', 'agent.owned_files', 'trust.score', 'trust.tier', 'trust.outcomes'],
          ...['trust.reliability', 'budget.tokens_used', 'budget.max_tokens', 'budget.cost_usd'],
          ...['budget.max_cost_usd', 'budget.signal']
        ]
      }
    }
  }
})

function agentAssessHandler({ orchestrator }: Dependencies): Handler<typeof agentAssess> {
  return ({ agent_id }) => {
    const agent = agentOf(orchestrator, agent_id)
    return {
      agent: { ...agent },
      trust: { ...orchestrator.trust.of(agent.id) },
      budget: { ...orchestrator.budgets.of(agent.id) }
    }
  }
}

export const trustOperations = [bound(trustOverride, trustOverrideHandler), bound(agentAssess, agentAssessHandler)]
