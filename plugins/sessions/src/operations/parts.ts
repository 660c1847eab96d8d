import { t } from '@svc/plugin-sdk'

export const sessionName = t.string({ description: 'Name of the session.', minLength: 1, maxLength: 2048 })
export const agentId = t.integer({ description: 'Id of the agent.', minimum: 0 })

export const sessionView = t.object({
  session_id: t.string(),
  agent_id: t.nullable(t.integer(), { description: 'Agent of the session.' }),
  agent_name: t.optional(t.string({ description: 'Name of the agent, or its label if the agent is gone.' })),
  state: t.enum(['active', 'idle', 'archived', 'compacted']),
  turns: t.integer({ description: 'Turns since the last reset.' }),
  tokens: t.integer({ description: 'Tokens of those turns, as far as known.' }),
  created_at_ms: t.integer(),
  updated_at_ms: t.integer({ description: 'Time of the last turn or change.' }),
  meta: t.record(t.string())
})

export const historyEntry = t.object({
  id: t.string(),
  role: t.enum(['user', 'assistant', 'system', 'tool']),
  content: t.string(),
  timestamp: t.integer({ description: 'Unix seconds.' }),
  context_files: t.array(t.string()),
  model_used: t.optional(t.string()),
  tokens: t.optional(t.integer())
})
