import { inferenceErrors } from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { CATEGORY_NAMES } from './choice/categories.ts'
import { providerErrors } from './errors.ts'
import { PROVIDERS } from './provider-list.ts'
import { TIERS } from './registry/entry.ts'

/** Topic: models were called, marked or selected. */
export const USAGE_TOPIC = 'providers.usage'

const { PRV_MODEL_UNKNOWN, PRV_MODEL_REFUSED, PRV_NO_DATABASE } = providerErrors.specs
const { ICL_BUSY, ICL_MODEL_UNKNOWN, ICL_REFUSED, ICL_UNAUTHORIZED, ICL_UNREACHABLE } = inferenceErrors.specs
const CHOICE_ERRORS = { ICL_BUSY, ICL_MODEL_UNKNOWN, ICL_REFUSED, ICL_UNAUTHORIZED, ICL_UNREACHABLE }

const usd = (description: string) => t.number({ description })

const model = t.object({
  name: t.string({ description: 'Name for svc models set, and for the model of a request.' }),
  id: t.string({ description: 'Name of the model at its provider.' }),
  canonical_slug: t.string(),
  provider: t.enum(PROVIDERS, { description: 'ollama is the local model server.' }),
  provider_type: t.string(),
  usable: t.boolean({ description: 'Whether the next request could use the model.' }),
  reason: t.nullable(t.string({ description: 'Why the model is not usable.' })),
  is_free: t.boolean(),
  cost_per_1k: t.nullable(usd('US dollars for 1,000 tokens, half of them output; null if unknown.')),
  cost_per_1k_input: t.nullable(usd('US dollars for 1,000 input tokens.')),
  cost_per_1k_output: t.nullable(usd('US dollars for 1,000 output tokens.')),
  observed_cost_per_1k: t.nullable(usd('Mean of the costs that the provider reported.')),
  cost_per_1k_cache_creation: t.nullable(t.number()),
  cost_per_1k_cache_read: t.nullable(t.number()),
  supports_prompt_caching: t.boolean(),
  pricing_source: t.string(),
  price_as_of: t.nullable(t.string({ description: 'Day of the price; null if it has no date.' })),
  price_source: t.nullable(t.string({ description: 'Page with the price; null if no source names it.' })),
  max_tokens: t.integer({ description: 'Maximum tokens of an answer.' }),
  remaining: t.nullable(t.integer({ description: 'Calls that are left today; null for no limit.' })),
  strengths: t.array(t.string()),
  supported_parameters: t.array(t.string()),
  capabilities: t.object({
    supports_json: t.boolean(),
    supports_vision: t.boolean(),
    supports_native_tools: t.boolean(),
    supports_tool_use: t.boolean(),
    reasoning: t.boolean(),
    web_search: t.boolean(),
    image_generation: t.boolean(),
    audio_input: t.boolean(),
    audio_output: t.boolean(),
    max_context: t.integer({ description: 'Tokens of prompt and answer; 0 if unknown.' }),
    tier: t.enum(TIERS),
    rate_limit_rpm: t.nullable(t.integer({ description: 'Requests per minute; part of the score.' })),
    rate_limit_rpd: t.nullable(t.integer({ description: 'Calls for each UTC day, as models.toml limits them.' })),
    latency_p50_ms: t.nullable(t.number()),
    is_moderated: t.boolean(),
    uptime_score: t.nullable(t.number())
  })
})

const session = t.optional(
  t.string({ minLength: 1, maxLength: 2_048, description: 'Session; without it, all sessions are meant.' })
)

export const listModels = defineOperation({
  id: 'models.list',
  summary: 'List local and hosted models with prices, capabilities and quotas',
  input: t.object({
    provider: t.optional(t.enum(PROVIDERS, { description: 'Only models of this provider.' })),
    all: t.boolean({ default: false, description: 'Include models that are not usable, for example without a key.' }),
    refresh: t.boolean({ default: false, description: 'Read the live model list of OpenRouter now.' }),
    limit: t.integer({ default: 200, minimum: 1, maximum: 5_000, description: 'Maximum models.' })
  }),
  output: t.object({
    models: t.array(model),
    total: t.integer({ description: 'Matching models, of which at most limit are listed.' }),
    catalog_at: t.nullable(t.string({ description: 'When the live list was read.' })),
    problems: t.array(t.string(), { description: 'Sources that could not be read.' }),
    note: t.string({ description: 'What the list does not show, in words; often empty.' })
  }),
  effect: 'read',
  watch: { on: [USAGE_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/providers/models' },
    mcp: {
      name: 'svc_list_models',
      toolsets: ['models'],
      use: 'Names, prices and quotas of local and hosted models, for svc_set_model. A choice for one task: svc_suggest_model.'
    },
    rpc: true,
    cli: {
      command: 'models list',
      view: {
        rows: 'models',
        note: 'note',
        columns: [
          'name',
          'usable',
          'cost_per_1k_input',
          'cost_per_1k_output',
          'price_as_of',
          'remaining',
          'capabilities.max_context'
        ]
      }
    }
  }
})

const suggestion = t.object({
  name: t.string(),
  provider: t.string(),
  score: t.number({ description: 'Higher is better. Models without a score are chosen by a rule.' }),
  is_free: t.boolean(),
  cost_per_1k: t.nullable(t.number())
})

export const suggestModel = defineOperation({
  id: 'models.suggest',
  summary: 'Suggest a model for a kind of task, and explain the choice',
  input: t.object({
    task: t.enum(CATEGORY_NAMES, { default: 'general', description: 'Kind of task.' }),
    complexity: t.integer({
      default: 5,
      minimum: 1,
      maximum: 10,
      description: '8 or more: a better model; 3 or less: a cheaper one.'
    }),
    prompt_tokens: t.integer({ default: 0, minimum: 0, description: 'Tokens of the prompt.' }),
    tools: t.boolean({ default: false, description: 'Whether the model must call tools.' }),
    json: t.boolean({ default: false, description: 'Whether the answer must be JSON.' }),
    latency_critical: t.boolean({ default: false, description: 'Prefer a free model that answers fast.' }),
    session_id: session
  }),
  output: t.object({
    model: t.string({ description: 'Model that a request would use now.' }),
    provider: t.string(),
    rule: t.string({ description: 'Rule that chose it: selected, premium, session, local, score and so on.' }),
    warning: t.nullable(t.string()),
    best_provider: t.nullable(t.string({ description: 'Provider with the most calls left today.' })),
    alternatives: t.array(suggestion, { description: 'Usable hosted models that suit the task, best first.' })
  }),
  errors: CHOICE_ERRORS,
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/providers/suggest' },
    mcp: {
      name: 'svc_suggest_model',
      toolsets: ['models'],
      use: 'Before a task with special needs, such as tools or a long prompt. It changes nothing; svc_set_model does.'
    },
    rpc: true,
    cli: {
      command: 'models suggest',
      args: ['task'],
      view: { fields: ['model', 'provider', 'rule', 'best_provider', 'warning'] }
    }
  }
})

export const setModel = defineOperation({
  id: 'models.set',
  summary: 'Select the model of one session or of all sessions',
  input: t.object({
    model: t.optional(
      t.string({
        minLength: 1,
        maxLength: 512,
        description: 'Name of svc models list; without it, the selection is removed.'
      })
    ),
    session_id: session
  }),
  output: t.object({
    model: t.nullable(t.string({ description: 'Selected model; null: it is chosen for each request.' })),
    previous: t.nullable(t.string()),
    session_id: t.nullable(t.string()),
    text: t.string()
  }),
  errors: { PRV_MODEL_UNKNOWN, PRV_MODEL_REFUSED, PRV_NO_DATABASE },
  effect: 'write',
  expose: {
    http: { method: 'POST', path: '/api/providers/select' },
    mcp: {
      name: 'svc_set_model',
      aliases: ['svc_set_active_model'],
      toolsets: ['models'],
      use: 'Only when a person names the model; otherwise each request gets a suitable one. Names: svc_list_models.'
    },
    rpc: true,
    cli: { command: 'models set', args: ['model'], view: { text: 'text' } }
  }
})

export const activeModel = defineOperation({
  id: 'models.active',
  summary: 'Show which model answers the next request, and which is selected',
  input: t.object({ session_id: session }),
  output: t.object({
    model: t.string(),
    provider: t.string(),
    rule: t.string({ description: 'Rule that chose it.' }),
    selected: t.nullable(t.string({ description: 'Selected model; null if none is selected.' })),
    selected_for: t.nullable(t.enum(['session', 'all'])),
    warning: t.nullable(t.string())
  }),
  errors: CHOICE_ERRORS,
  effect: 'read',
  watch: { on: [USAGE_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/providers/active' },
    mcp: {
      name: 'svc_get_active_model',
      toolsets: ['models'],
      use: 'To say which model answers, and why. Other candidates: svc_suggest_model.'
    },
    rpc: true,
    cli: {
      command: 'models active',
      view: { fields: ['model', 'provider', 'rule', 'selected', 'selected_for', 'warning'] }
    }
  }
})

/** Fields of a row with the usage of a model on a day. */
export const usageFields = {
  key: t.string(),
  provider: t.string(),
  model: t.string({ description: '* for local models, :free for the free models of OpenRouter.' }),
  date: t.string({ description: 'UTC day.' }),
  calls: t.integer(),
  tokens_in: t.integer(),
  tokens_out: t.integer(),
  cost_usd: t.number({ description: 'Reported costs, and estimates where none was reported.' }),
  estimated_cost_usd: t.number(),
  provider_reported_cost_usd: t.nullable(t.number()),
  limited: t.boolean({ description: 'Whether the model gets no requests at the moment.' }),
  last_429: t.nullable(t.integer({ description: 'Unix milliseconds of the last HTTP 429.' }))
}

export const modelUsage = defineOperation({
  id: 'models.usage',
  summary: 'Show calls, tokens and costs by provider and model, and the quotas',
  input: t.object({
    days: t.integer({ default: 1, minimum: 1, maximum: 90, description: 'UTC days, today included.' })
  }),
  output: t.object({
    usage: t.array(t.object(usageFields)),
    providers: t.array(
      t.object({
        provider: t.string(),
        has_key: t.boolean(),
        calls: t.integer({ description: 'Calls today.' }),
        remaining: t.nullable(t.integer({ description: 'Calls that are left today; null for no limit.' })),
        limited: t.boolean({ description: 'Whether a model of it cools down.' })
      })
    ),
    days: t.array(
      t.object({
        at: t.integer({ description: 'Unix milliseconds of the begin of the UTC day.' }),
        calls: t.integer(),
        tokens: t.integer(),
        cost_usd: t.number()
      })
    ),
    total_cost_usd: t.number(),
    best_provider: t.nullable(t.string({ description: 'Provider with the most calls left today.' })),
    note: t.string({ description: 'Says so if no model was called; else empty.' })
  }),
  effect: 'read',
  watch: { on: [USAGE_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/providers/usage' },
    mcp: {
      name: 'svc_model_usage',
      toolsets: ['models'],
      use: 'What models have cost, and which quota is left. Costs of agents: svc_cost_history.'
    },
    rpc: true,
    cli: {
      command: 'models usage',
      view: {
        rows: 'usage',
        note: 'note',
        columns: ['date', 'provider', 'model', 'calls', 'tokens_in', 'tokens_out', 'cost_usd', 'limited']
      }
    }
  }
})

export const operations = [listModels, suggestModel, setModel, activeModel, modelUsage]
