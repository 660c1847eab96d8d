import { type AgentBudget, orchestrationErrors } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { agentOf } from '../agents/lifecycle.ts'
import { bound, type Dependencies } from '../dependencies.ts'
import { agentId, numberOf } from '../fields.ts'
import { tool } from '../tool.ts'

const errors = orchestrationErrors.specs
const usage = t.object({
  agent_id: t.integer(),
  max_tokens: t.integer(),
  max_cost_usd: t.number(),
  tokens_used: t.integer(),
  cost_usd: t.number(),
  token_alert: t.number(),
  cost_alert: t.number(),
  signal: t.string()
})

const budgetStatus = defineOperation({
  id: 'orchestrator.budgetStatus',
  summary: 'Show spending and budgets of agents',
  input: t.object({ agent_id: t.optional(agentId) }),
  output: t.object({ budgets: t.array(usage), total_cost_usd: t.number(), total_tokens: t.integer() }),
  errors,
  effect: 'read',
  expose: {
    mcp: tool('budget_status', {
      toolsets: ['budgets'],
      use: 'Tokens and costs of each agent against its budget. Single calls: svc_cost_history.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/budgets' },
    rpc: true,
    cli: {
      command: 'orch budget list',
      view: {
        rows: 'budgets',
        columns: ['agent_id', 'tokens_used', 'max_tokens', 'cost_usd', 'max_cost_usd', 'signal']
      }
    }
  }
})

function budgetStatusHandler({ orchestrator }: Dependencies): Handler<typeof budgetStatus> {
  return ({ agent_id }) => {
    const budgets: readonly AgentBudget[] =
      agent_id === undefined
        ? orchestrator.budgets.all()
        : [orchestrator.budgets.of(agentOf(orchestrator, agent_id).id)]
    return {
      budgets: budgets.map(each => ({ ...each })),
      total_cost_usd: budgets.reduce((sum, { cost_usd }) => sum + cost_usd, 0),
      total_tokens: budgets.reduce((sum, { tokens_used }) => sum + tokens_used, 0)
    }
  }
}

const setAgentBudget = defineOperation({
  id: 'orchestrator.setAgentBudget',
  summary: 'Set the budget of an agent',
  input: t.object({
    agent_id: agentId,
    max_tokens: t.optional(t.integer({ minimum: 0, description: 'Maximum number of tokens.' })),
    max_cost_usd: t.optional(t.number({ minimum: 0, description: 'Maximum costs in US dollars.' }))
  }),
  output: usage,
  errors,
  idempotent: true,
  expose: {
    mcp: tool('set_agent_budget', {
      toolsets: ['budgets'],
      use: 'Limits tokens or costs. Spending so far: svc_budget_status.'
    }),
    http: { method: 'PUT', path: '/api/orchestrator/budgets/:agent_id' },
    rpc: true,
    cli: { command: 'orch budget set', args: ['agent_id'] }
  }
})

function setAgentBudgetHandler({ orchestrator }: Dependencies): Handler<typeof setAgentBudget> {
  return async ({ agent_id, max_tokens, max_cost_usd }) => ({
    ...(await orchestrator.budgets.set(agentOf(orchestrator, agent_id).id, {
      ...(max_tokens === undefined ? {} : { max_tokens }),
      ...(max_cost_usd === undefined ? {} : { max_cost_usd })
    }))
  })
}

const cost = {
  provider: t.string({ minLength: 1, maxLength: 256, description: 'Provider of the model.' }),
  model: t.string({ minLength: 1, maxLength: 256, description: 'Name of the model.' }),
  input_tokens: t.integer({ default: 0, minimum: 0, description: 'Tokens of the prompt.' }),
  output_tokens: t.integer({ default: 0, minimum: 0, description: 'Tokens of the answer.' }),
  cost_usd: t.number({ default: 0, minimum: 0, description: 'Price of the call in US dollars.' }),
  session_id: t.optional(t.string({ maxLength: 2_048, description: 'Session to which the call belongs.' })),
  tenant_id: t.optional(t.string({ maxLength: 256, description: 'Tenant for which the call was made.' }))
}

const recordCost = defineOperation({
  id: 'orchestrator.recordCost',
  summary: 'Record the cost of a model call',
  input: t.object({ agent_id: agentId, ...cost }),
  output: t.object({ signal: t.string() }),
  errors,
  expose: {
    mcp: tool('record_cost', {
      toolsets: ['budgets'],
      use: 'For calls that svc did not make itself; its own are recorded already.'
    }),
    http: { method: 'POST', path: '/api/orchestrator/costs' }
  }
})

function recordCostHandler({ orchestrator }: Dependencies): Handler<typeof recordCost> {
  return async ({ agent_id, ...rest }) => ({
    signal: await orchestrator.budgets.record({ ...rest, agent_id: agentOf(orchestrator, agent_id).id })
  })
}

const costHistory = defineOperation({
  id: 'orchestrator.costHistory',
  summary: 'List costs of model calls, newest first',
  input: t.object({
    agent_id: t.optional(agentId),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum number of records.' })
  }),
  output: t.object({
    records: t.array(
      t.object({
        agent_id: t.integer(),
        timestamp_ms: t.integer(),
        task_id: t.optional(t.integer()),
        ...cost
      })
    )
  }),
  errors,
  effect: 'read',
  expose: {
    mcp: tool('cost_history', {
      aliases: ['svc_budget_history'],
      toolsets: ['budgets'],
      use: 'Single model calls with provider, tokens and price. Sums by agent: svc_budget_status.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/costs' },
    rpc: true,
    cli: {
      command: 'orch budget costs',
      view: { rows: 'records', columns: ['agent_id', 'provider', 'model', 'input_tokens', 'output_tokens', 'cost_usd'] }
    }
  }
})

function costHistoryHandler({ orchestrator }: Dependencies): Handler<typeof costHistory> {
  return async ({ agent_id, limit }) => {
    const filter = agent_id === undefined ? { limit } : { limit, agent_id: numberOf(agent_id) }
    return { records: (await orchestrator.budgets.history(filter)).map(each => ({ ...each })) }
  }
}

export const budgets = [
  bound(budgetStatus, budgetStatusHandler),
  bound(setAgentBudget, setAgentBudgetHandler),
  bound(recordCost, recordCostHandler),
  bound(costHistory, costHistoryHandler)
]
