import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { TOPICS } from '../feeds/state-feeds.ts'
import { tool } from '../tool.ts'

const fields = {
  enabled: t.boolean(),
  max_attention_ms: t.number(),
  spent_ms: t.number(),
  ratio: t.number(),
  total_requests: t.integer(),
  auto_approved: t.integer(),
  rejected: t.integer(),
  interrupt_freq_per_hour: t.number(),
  last_interrupt_ms: t.nullable(t.number()),
  inbox_suppressed_count: t.integer(),
  focus_depth: t.enum(['Ambient', 'Focused', 'Deep']),
  fatigued: t.boolean(),
  signal: t.string()
}
const state = t.object(fields)

const attentionSummary = defineOperation({
  id: 'orchestrator.attentionSummary',
  summary: 'Show the attention budget of the user',
  input: t.object({}),
  output: state,
  effect: 'read',
  watch: { on: [TOPICS.attention], minMs: 1_000 },
  expose: {
    mcp: tool('attention_summary', {
      readRole: true,
      toolsets: ['budgets'],
      use: 'Read it before you interrupt the user. Earlier interruptions: svc_attention_history.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/attention' },
    rpc: true,
    cli: { command: 'orch attention show', view: { fields: Object.keys(fields) } }
  }
})

function attentionSummaryHandler({ orchestrator }: Dependencies): Handler<typeof attentionSummary> {
  return () => ({ enabled: orchestrator.attention.enabled, ...orchestrator.attention.state() })
}

const attentionHistory = defineOperation({
  id: 'orchestrator.attentionHistory',
  summary: 'List attention spending, newest last',
  input: t.object({
    limit: t.integer({ default: 50, minimum: 1, maximum: 100, description: 'Maximum number of records.' })
  }),
  output: t.object({ events: t.array(t.record(t.unknown())) }),
  effect: 'read',
  expose: {
    mcp: tool('attention_history', {
      toolsets: ['budgets'],
      use: 'When and for what the user was interrupted. The current state: svc_attention_summary.'
    })
  }
})

function attentionHistoryHandler({ orchestrator }: Dependencies): Handler<typeof attentionHistory> {
  return ({ limit }) => ({ events: orchestrator.attention.events(limit).map(each => ({ ...each })) })
}

const attentionReset = defineOperation({
  id: 'orchestrator.attentionReset',
  summary: 'Reset the attention budget',
  input: t.object({
    max_ms: t.optional(t.integer({ minimum: 0, description: 'New budget in milliseconds; default: unchanged.' })),
    reason: t.string({
      default: 'reset by a tool',
      minLength: 1,
      maxLength: 4_096,
      description: 'Why the budget is reset.'
    })
  }),
  output: state,
  expose: {
    mcp: tool('attention_reset', {
      toolsets: ['budgets'],
      use: 'Sets the spent attention to zero. Only when the user asks for it.'
    }),
    rpc: true,
    cli: { command: 'orch attention reset', view: { fields: Object.keys(fields) } }
  }
})

function attentionResetHandler({ orchestrator }: Dependencies): Handler<typeof attentionReset> {
  return async ({ max_ms, reason }) => {
    await orchestrator.attention.reset(max_ms ?? null, reason)
    return { enabled: orchestrator.attention.enabled, ...orchestrator.attention.state() }
  }
}

export const attentionOperations = [
  bound(attentionSummary, attentionSummaryHandler),
  bound(attentionHistory, attentionHistoryHandler),
  bound(attentionReset, attentionResetHandler)
]
