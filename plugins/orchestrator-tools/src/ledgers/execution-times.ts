import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { bound, type Dependencies } from '../dependencies.ts'
import { tool } from '../tool.ts'

const toolKey = t.string({
  minLength: 1,
  maxLength: 512,
  description: 'Name of the tool under which its calls are recorded.'
})
const repository = t.optional(
  t.string({ minLength: 1, maxLength: 512, description: 'Repository; default: the current one.' })
)

const recordExecutionTime = defineOperation({
  id: 'orchestrator.recordExecutionTime',
  summary: 'Record the duration of a tool call',
  input: t.object({
    tool_key: toolKey,
    duration_ms: t.integer({ minimum: 0, description: 'Duration of the call in milliseconds.' }),
    timeout_budget_ms: t.optional(t.integer({ minimum: 0, description: 'Timeout of the call in milliseconds.' })),
    outcome: t.enum(['success', 'timeout', 'error'], { description: 'How the call ended.' }),
    repository_id: repository
  }),
  output: t.object({ ok: t.boolean() }),
  expose: {
    mcp: tool('exec_time_record', {
      toolsets: ['budgets'],
      use: 'Report how long your call took, so that later timeouts fit. svc_exec_time_query reads the statistics.'
    })
  }
})

function recordExecutionTimeHandler({ orchestrator }: Dependencies): Handler<typeof recordExecutionTime> {
  return async ({ tool_key, duration_ms, outcome, timeout_budget_ms, repository_id }) => {
    await orchestrator.executionTimes.record({
      tool_key,
      duration_ms,
      outcome,
      ...(timeout_budget_ms === undefined ? {} : { timeout_budget_ms }),
      ...(repository_id === undefined ? {} : { repository_id })
    })
    return { ok: true }
  }
}

const queryExecutionTime = defineOperation({
  id: 'orchestrator.queryExecutionTime',
  summary: 'Show the usual duration of a tool, and its suggested timeout',
  input: t.object({
    tool_key: toolKey,
    repository_id: repository,
    window_days: t.optional(
      t.integer({ minimum: 1, maximum: 3_650, description: 'Age in days of the oldest measurement that counts.' })
    )
  }),
  output: t.union([
    t.object({ found: t.boolean() }),
    t.object({
      tool_key: t.string(),
      sample_count: t.integer(),
      avg_ms: t.number(),
      p90_ms: t.number(),
      max_ms: t.number(),
      timeout_rate: t.number(),
      recommended_budget_ms: t.number(),
      signal: t.string()
    })
  ]),
  effect: 'read',
  expose: {
    mcp: tool('exec_time_query', {
      readRole: true,
      toolsets: ['budgets'],
      use: 'Ask before a long call, to choose its timeout. svc_exec_time_record adds a measurement.'
    }),
    http: { method: 'GET', path: '/api/orchestrator/execution-times/:tool_key' },
    rpc: true,
    cli: {
      command: 'orch budget tool-time',
      args: ['tool_key'],
      view: {
        fields: [
          'found',
          'tool_key',
          'sample_count',
          'avg_ms',
          'p90_ms',
          'max_ms',
          'timeout_rate',
          'recommended_budget_ms',
          'signal'
        ]
      }
    }
  }
})

function queryExecutionTimeHandler({ orchestrator }: Dependencies): Handler<typeof queryExecutionTime> {
  return async ({ tool_key, repository_id, window_days }) => {
    const profile = await orchestrator.executionTimes.query(tool_key, {
      ...(repository_id === undefined ? {} : { repository_id }),
      ...(window_days === undefined ? {} : { window_days })
    })
    return profile === null ? { found: false } : { ...profile }
  }
}

export const executionTimes = [
  bound(recordExecutionTime, recordExecutionTimeHandler),
  bound(queryExecutionTime, queryExecutionTimeHandler)
]
