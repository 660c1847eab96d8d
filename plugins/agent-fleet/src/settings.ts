import { type Infer, t } from '@svc/plugin-sdk'

const price = t.object({
  model: t.string({ minLength: 1, description: 'Name of the model on its server.' }),
  input_usd: t.number({ minimum: 0, description: 'US dollars for a million input tokens.' }),
  output_usd: t.number({ minimum: 0, description: 'US dollars for a million output tokens.' })
})

const milliseconds = (value: number, description: string) =>
  t.integer({ default: value, minimum: 1, maximum: 86_400_000, 'x-reload': 'live', description })

export const settings = t.object({
  fleet: t.boolean({
    default: true,
    'x-env': 'SVC_MCP_AGENT_FLEET',
    'x-env-type': 'truthy',
    description: 'Whether agents work on tasks in long-running processes: svc serve, a daemon, an editor’s svc mcp.'
  }),
  processor: t.enum(['auto', 'ai', 'stub', 'external'], {
    default: 'auto',
    description:
      'Processor of tasks that no other plugin accepts. ai: a model. stub: no work; tasks are in progress until a client completes them. auto: ai if a model is chosen, else stub. external: agents claim tasks only if another plugin provides a processor.'
  }),
  stub_completes: t.boolean({
    default: false,
    'x-reload': 'live',
    description:
      'Whether the stub completes each task immediately and states that no work was done. The gates decide whether to accept this.'
  }),
  model: t.optional(
    t.string({
      minLength: 1,
      'x-reload': 'live',
      description: 'Model of tasks that specify none. Default: INFER_MODEL.'
    })
  ),
  research_model: t.optional(
    t.string({
      minLength: 1,
      'x-reload': 'live',
      description: 'Model of research tasks that specify none, if orchestrator.research_model_enabled is on.'
    })
  ),
  prices: t.array(price, {
    default: [],
    'x-reload': 'live',
    description:
      'Prices of models; others are free. With orchestrator.cost_preference = "economy", the cheapest listed model that the server offers is used.'
  }),
  task_timeout_ms: milliseconds(
    1_800_000,
    'Maximum milliseconds for the work on a task; a smaller max_latency_ms of the task applies first.'
  ),
  phase_timeout_ms: milliseconds(600_000, 'Maximum milliseconds of one of the six phases.'),
  server_wait_ms: t.integer({
    default: 120_000,
    minimum: 0,
    'x-reload': 'live',
    description: 'Milliseconds that a task waits for an unreachable model server before it fails.'
  }),
  tool_rounds: t.integer({
    default: 8,
    minimum: 0,
    maximum: 100,
    'x-reload': 'live',
    description: 'Maximum replies with tool calls in one phase; after that, no tools are offered.'
  }),
  offered_tools: t.integer({
    default: 12,
    minimum: 0,
    maximum: 128,
    'x-reload': 'live',
    description:
      'Maximum number of tools offered to the model: those in the task’s hints, then those that match its description.'
  }),
  output_tokens: t.integer({
    default: 2_048,
    minimum: 16,
    'x-reload': 'live',
    description: 'Maximum tokens of one reply of a model.'
  }),
  context_tokens: t.integer({
    default: 2_000,
    minimum: 0,
    'x-reload': 'live',
    description: 'Maximum tokens of the session’s context in a prompt.'
  })
})

export type Settings = Infer<typeof settings>
