import type { OpenAiTarget } from '@svc/contracts'

/** Names of providers in usage, limits and settings. `ollama` is the local model server. */
export const PROVIDERS = [
  'google',
  'openrouter',
  'ollama',
  'groq',
  'cerebras',
  'mistral',
  'deepseek',
  'sambanova',
  'custom',
  'anthropic',
  'huggingface',
  'openai'
] as const

export type ProviderName = (typeof PROVIDERS)[number]
export type HostedName = Exclude<ProviderName, 'ollama'>

/** Values of `provider_type` in models.toml, and the provider that each belongs to. */
export const PROVIDER_TYPES = {
  google_direct: 'google',
  open_router: 'openrouter',
  ollama: 'ollama',
  populi_mesh: 'ollama',
  vox_local: 'ollama',
  groq: 'groq',
  cerebras: 'cerebras',
  mistral: 'mistral',
  deep_seek: 'deepseek',
  samba_nova: 'sambanova',
  anthropic: 'anthropic',
  hugging_face_router: 'huggingface',
  openai: 'openai',
  custom: 'custom'
} as const satisfies Readonly<Record<string, ProviderName>>

export type ProviderType = keyof typeof PROVIDER_TYPES

export interface HostedProvider {
  readonly title: string
  /** Environment variable with the key, for advice. */
  readonly variable: string
  readonly wire: 'openai' | 'anthropic' | 'gemini'
  /** Complete URL of the chat; for Gemini, the base URL. Null: it must be configured. */
  readonly url: string | null
  readonly fields?: NonNullable<OpenAiTarget['fields']>
  /** False if images must be data, not addresses; default: true. */
  readonly imageUrls?: false
  /** Expected latency component of the score, [0, 1], for models without a measured latency. */
  readonly speed: number
}

/** Hosted providers, in the order in which ties are broken. */
export const HOSTED: Readonly<Record<HostedName, HostedProvider>> = {
  groq: {
    title: 'Groq',
    variable: 'GROQ_API_KEY',
    wire: 'openai',
    url: 'https://api.groq.com/openai/v1/chat/completions',
    speed: 0.95
  },
  cerebras: {
    title: 'Cerebras',
    variable: 'CEREBRAS_API_KEY',
    wire: 'openai',
    url: 'https://api.cerebras.ai/v1/chat/completions',
    speed: 0.95
  },
  google: {
    title: 'Google',
    variable: 'GEMINI_API_KEY',
    wire: 'gemini',
    url: 'https://generativelanguage.googleapis.com/v1beta',
    imageUrls: false,
    speed: 0.85
  },
  anthropic: {
    title: 'Anthropic',
    variable: 'ANTHROPIC_API_KEY',
    wire: 'anthropic',
    url: 'https://api.anthropic.com/v1/messages',
    speed: 0.75
  },
  openai: {
    title: 'OpenAI',
    variable: 'OPENAI_API_KEY',
    wire: 'openai',
    url: 'https://api.openai.com/v1/chat/completions',
    fields: { max_tokens: 'max_completion_tokens' },
    speed: 0.75
  },
  mistral: {
    title: 'Mistral',
    variable: 'MISTRAL_API_KEY',
    wire: 'openai',
    url: 'https://api.mistral.ai/v1/chat/completions',
    // Rejects unknown fields, and always ends a stream with the token counts.
    fields: { seed: 'random_seed', stream_options: null },
    speed: 0.8
  },
  deepseek: {
    title: 'DeepSeek',
    variable: 'DEEPSEEK_API_KEY',
    wire: 'openai',
    url: 'https://api.deepseek.com/v1/chat/completions',
    fields: { seed: null },
    speed: 0.65
  },
  sambanova: {
    title: 'SambaNova',
    variable: 'SAMBANOVA_API_KEY',
    wire: 'openai',
    url: 'https://api.sambanova.ai/v1/chat/completions',
    imageUrls: false,
    speed: 0.9
  },
  openrouter: {
    title: 'OpenRouter',
    variable: 'OPENROUTER_API_KEY',
    wire: 'openai',
    url: 'https://openrouter.ai/api/v1/chat/completions',
    speed: 0.7
  },
  huggingface: {
    title: 'Hugging Face',
    variable: 'HF_TOKEN',
    wire: 'openai',
    url: 'https://router.huggingface.co/v1/chat/completions',
    speed: 0.65
  },
  custom: {
    title: 'the custom provider',
    variable: 'CUSTOM_OPENAI_API_KEY',
    wire: 'openai',
    url: null,
    speed: 0.65
  }
}

export const HOSTED_NAMES = Object.keys(HOSTED) as HostedName[]

/** Expected latency component of the score for the local server, [0, 1]. */
export const LOCAL_SPEED = 0.8

/** False if the images of requests to a provider must be data. */
export function takesImageUrls(provider: ProviderName): boolean {
  return provider !== 'ollama' && HOSTED[provider].imageUrls !== false
}
