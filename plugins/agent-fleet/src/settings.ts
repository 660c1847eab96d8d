import { type Infer, t } from '@svc/plugin-sdk'

const price = t.object({
  model: t.string({ minLength: 1, description: 'Name of the model on its server.' }),
  input_usd: t.number({ minimum: 0, description: 'US dollars for a million tokens that it reads.' }),
  output_usd: t.number({ minimum: 0, description: 'US dollars for a million tokens that it writes.' })
})

const milliseconds = (value: number, description: string) =>
  t.integer({ default: value, minimum: 1, maximum: 86_400_000, 'x-reload': 'live', description })

export const settings = t.object({
  fleet: t.boolean({
    default: true,
    'x-env': 'SVC_MCP_AGENT_FLEET',
    'x-env-type': 'truthy',
    description: 'Whether agents work on tasks in a long-running process: a server, a daemon, an editor’s svc mcp.'
  }),
  processor: t.enum(['auto', 'ai', 'stub', 'external'], {
    default: 'auto',
    description:
      'Worker of tasks that no plugin takes. ai: a model. stub: none; they are in progress until a client completes them. auto: a model where one is chosen, else none. external: agents take up only what a plugin takes.'
  }),
  stub_completes: t.boolean({
    default: false,
    'x-reload': 'live',
    description:
      'Whether the stub completes each task immediately, stating that nothing was done. The gates decide whether to accept that.'
  }),
  model: t.optional(
    t.string({ minLength: 1, 'x-reload': 'live', description: 'Model of tasks that name none. Default: INFER_MODEL.' })
  ),
  research_model: t.optional(
    t.string({
      minLength: 1,
      'x-reload': 'live',
      description: 'Model of research that names none, if orchestrator.research_model_enabled is on.'
    })
  ),
  prices: t.array(price, {
    default: [],
    'x-reload': 'live',
    description:
      'What models cost; others are free. With orchestrator.cost_preference = "economy" the cheapest of these that the server offers is taken.'
  }),
  task_timeout_ms: milliseconds(1_800_000, 'Milliseconds for the work on a task without its own time budget.'),
  phase_timeout_ms: milliseconds(600_000, 'Milliseconds for one of the six phases.'),
  server_wait_ms: t.integer({
    default: 120_000,
    minimum: 0,
    'x-reload': 'live',
    description: 'Milliseconds that a task waits for a model server that does not answer yet, before it fails.'
  }),
  tool_rounds: t.integer({
    default: 8,
    minimum: 0,
    maximum: 100,
    'x-reload': 'live',
    description: 'Answers with calls of tools in one phase; after them the model has to come to an end.'
  }),
  offered_tools: t.integer({
    default: 12,
    minimum: 0,
    maximum: 128,
    'x-reload': 'live',
    description: 'Maximum of offered tools: those of the task’s hints, then those that match its description.'
  }),
  output_tokens: t.integer({
    default: 2_048,
    minimum: 16,
    'x-reload': 'live',
    description: 'Maximum tokens of one answer of a model.'
  }),
  context_tokens: t.integer({
    default: 2_000,
    minimum: 0,
    'x-reload': 'live',
    description: 'Maximum tokens of the session’s context in a prompt.'
  })
})

export type Settings = Infer<typeof settings>
