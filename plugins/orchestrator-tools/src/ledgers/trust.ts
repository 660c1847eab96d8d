import { orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { agentOf } from '../agents/lifecycle.ts'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, trustTier } from '../fields.ts'
import { tool } from '../tool.ts'

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
    score: t.optional(t.number({ minimum: 0, maximum: 1 })),
    reason: t.string({ minLength: 1, maxLength: 4_096 })
  }),
  output: trust,
  errors: orchestrationErrors.specs,
  expose: {
    mcp: tool('trust_override'),
    rpc: true,
    cli: { command: 'orch agents trust', args: ['agent_id', 'reason', 'tier'] }
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
  expose: { mcp: tool('agent_assess'), rpc: true, cli: { command: 'orch agents assess', args: ['agent_id'] } }
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
