import { type Infer, t } from '@svc/plugin-sdk'
import { HOSTED, type HostedName, PROVIDERS } from './provider-list.ts'

const live = { 'x-reload': 'live' } as const

const key = (name: HostedName) =>
  t.optional(
    t.secret({
      minLength: 1,
      'x-env': HOSTED[name].variable,
      ...live,
      description: `Key of ${HOSTED[name].title}. Its models can be chosen only with a key.`
    })
  )

const url = (name: HostedName, variable?: string) =>
  t.optional(
    t.string({
      pattern: '^https?://',
      ...(variable === undefined ? {} : { 'x-env': variable }),
      ...live,
      description: `URL of requests to ${HOSTED[name].title}; https, except on this machine.`
    })
  )

const text = (variable: string, description: string) =>
  t.optional(t.string({ minLength: 1, 'x-env': variable, ...live, description }))

const daily = {
  default: 100,
  minimum: 0,
  'x-env': ['SVC_PROVIDER_DAILY_LIMIT_DEFAULT', 'SVC_PROVIDER_DAILY_LIMIT_DAILY_LIMIT_DEFAULT'],
  ...live
}

export const settings = t.object({
  profile: t.enum(
    [
      'desktop_local',
      'cloud_compatible',
      'mobile_litert',
      'mobile_coreml',
      'lan_gateway',
      'desktop_ollama',
      'cloud_openai_compatible'
    ],
    {
      default: 'desktop_local',
      'x-env': 'SVC_INFERENCE_PROFILE',
      ...live,
      description:
        'Where models run. desktop_local, lan_gateway: the local server first, then hosted providers. Others: hosted providers only. desktop_ollama and cloud_openai_compatible are older names.'
    }
  ),
  strategy: t.enum(['provider_auto', 'preferred_model', 'preferred'], {
    default: 'provider_auto',
    'x-env': 'SVC_AUTO_MODEL_STRATEGY',
    ...live,
    description:
      'Choice among hosted models. provider_auto: OpenRouter chooses, if it has a key; else the best score. preferred_model: the setting preferred_model.'
  }),
  preferred_model: t.optional(
    t.string({
      minLength: 1,
      ...live,
      description: 'Model of the strategy preferred_model, as svc models list shows it.'
    })
  ),
  allowed: t.array(t.enum(PROVIDERS), {
    default: [],
    ...live,
    description: 'Providers that may receive requests; empty: all with a key, and the local server.'
  }),
  priority: t.string({
    default: '',
    'x-env': 'SVC_AUTO_ROUTING_PRIORITY',
    ...live,
    description:
      'Weights of the score, 0 to 255, such as efficiency=25,precision=30,latency=20,availability=20,balance=5,mobile=0. cost, quality and speed are other names of the first three. Invalid parts are ignored.'
  }),
  gemini_policy: t.enum(['openrouter_first', 'google_direct_only', 'registry_default'], {
    default: 'openrouter_first',
    'x-env': 'SVC_GEMINI_ROUTE_POLICY',
    ...live,
    description: 'Route of an automatically chosen Gemini model: OpenRouter if it has a key, only Google, or as chosen.'
  }),
  openrouter_gemini_model: t.string({
    default: 'google/gemini-2.5-flash',
    minLength: 1,
    'x-env': 'OPENROUTER_GEMINI_MODEL',
    ...live,
    description: 'Gemini model on OpenRouter for gemini_policy.'
  }),
  google_gemini_model: t.string({
    default: 'gemini-2.5-flash',
    minLength: 1,
    'x-env': 'GEMINI_DIRECT_MODEL',
    ...live,
    description: 'Gemini model at Google for gemini_policy.'
  }),
  cost_preference: t.string({
    default: 'economy',
    minLength: 1,
    'x-env': 'SVC_COST_PREFERENCE',
    ...live,
    description: 'performance or quality: OpenRouter prefers better hosts; any other value: cheaper ones.'
  }),
  route_hint: t.optional(
    t.enum(['price', 'economy', 'cheap', 'quality', 'performance', 'best', 'fallback', 'resilience'], {
      'x-env': 'SVC_OPENROUTER_ROUTE_HINT',
      ...live,
      description: 'What OpenRouter optimises for its automatic model. Default: from cost_preference.'
    })
  ),
  http_referer: text('SVC_OPENROUTER_HTTP_REFERER', 'Header HTTP-Referer of requests to OpenRouter.'),
  app_title: text('SVC_OPENROUTER_APP_TITLE', 'Header X-Title of requests to OpenRouter.'),
  session_max_cost_usd: t.optional(
    t.number({
      minimum: 0,
      ...live,
      description: 'US dollars after which a session uses only free models. The local server is free.'
    })
  ),
  max_output_tokens: t.integer({
    default: 8_192,
    minimum: 1,
    ...live,
    description: 'Maximum tokens of an answer of a hosted model.'
  }),
  daily_limit: t.integer({
    ...daily,
    description: 'Calls of a provider for each UTC day; half of it for the free models of OpenRouter.'
  }),
  limited_providers: t.string({
    default: 'google,openrouter,ollama,groq,cerebras,mistral,deepseek,sambanova,custom',
    'x-env': 'SVC_PROVIDER_LIMIT_PROVIDERS',
    ...live,
    description: 'Providers with daily_limit, separated by commas. The local server, ollama, stays unlimited.'
  }),
  daily_limits_file: text(
    'SVC_PROVIDER_DAILY_LIMITS_FILE',
    'JSON file with calls for each day, such as {"groq/*": 1000}. A file that is not valid is ignored with a warning.'
  ),
  daily_limits_json: text('SVC_PROVIDER_DAILY_LIMITS_JSON', 'Like daily_limits_file, as text; overrides the file.'),
  cool_down_ms: t.integer({
    default: 60_000,
    minimum: 0,
    maximum: 86_400_000,
    ...live,
    description: 'Milliseconds without requests to a model after HTTP 429 or a fault, if the provider names no time.'
  }),
  first_token_timeout_ms: t.integer({
    default: 60_000,
    minimum: 10,
    maximum: 3_600_000,
    ...live,
    description: 'Milliseconds until a hosted model must begin its answer, before the next candidate is tried.'
  }),
  idle_timeout_ms: t.integer({
    default: 60_000,
    minimum: 10,
    maximum: 3_600_000,
    ...live,
    description: 'Maximum pause of a hosted answer in milliseconds.'
  }),
  models_file: t.optional(
    t.string({
      minLength: 1,
      ...live,
      description: 'Path of models.toml. Default: in the folder of the user file svc.toml.'
    })
  ),
  catalog_cache: t.optional(
    t.string({
      minLength: 1,
      ...live,
      description: 'File with the last model list of OpenRouter. Default: ~/.vox/cache/model-catalog.v1.json.'
    })
  ),
  catalog_url: t.string({
    default: 'https://openrouter.ai/api/v1/models',
    pattern: '^https?://',
    ...live,
    description: 'Model list of OpenRouter. It is read only if OpenRouter has a key.'
  }),
  catalog_refresh_s: t.integer({
    default: 3_600,
    minimum: 30,
    ...live,
    description: 'Minimum seconds between two readings of the model list.'
  }),
  embedding_model: text(
    'SVC_EMBEDDING_MODEL',
    'Embedding model of the first usable provider: Hugging Face, OpenAI, OpenRouter, the local server. Default: a small model of each.'
  ),
  google_api_key: key('google'),
  openrouter_api_key: key('openrouter'),
  groq_api_key: key('groq'),
  cerebras_api_key: key('cerebras'),
  mistral_api_key: key('mistral'),
  deepseek_api_key: key('deepseek'),
  sambanova_api_key: key('sambanova'),
  custom_api_key: key('custom'),
  anthropic_api_key: key('anthropic'),
  huggingface_api_key: key('huggingface'),
  openai_api_key: key('openai'),
  google_url: url('google'),
  openrouter_url: url('openrouter'),
  groq_url: url('groq', 'SVC_GROQ_CHAT_COMPLETIONS_URL'),
  cerebras_url: url('cerebras', 'SVC_CEREBRAS_CHAT_COMPLETIONS_URL'),
  mistral_url: url('mistral', 'SVC_MISTRAL_CHAT_COMPLETIONS_URL'),
  deepseek_url: url('deepseek', 'SVC_DEEPSEEK_CHAT_COMPLETIONS_URL'),
  sambanova_url: url('sambanova', 'SVC_SAMBANOVA_CHAT_COMPLETIONS_URL'),
  custom_url: url('custom'),
  anthropic_url: url('anthropic'),
  huggingface_url: url('huggingface'),
  openai_url: url('openai')
})

export type Settings = Infer<typeof settings>

export type Profile = 'desktop_local' | 'cloud_compatible' | 'mobile_litert' | 'mobile_coreml' | 'lan_gateway'

const OLDER_PROFILES: Readonly<Record<string, Profile>> = {
  desktop_ollama: 'desktop_local',
  cloud_openai_compatible: 'cloud_compatible'
}

export function profileOf({ profile }: Pick<Settings, 'profile'>): Profile {
  return OLDER_PROFILES[profile] ?? (profile as Profile)
}

/** True if the profile includes local servers. */
export function usesLocalServers(profile: Profile): boolean {
  return profile === 'desktop_local' || profile === 'lan_gateway'
}
