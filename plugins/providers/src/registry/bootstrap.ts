import { type EntryFields, type ModelEntry, type Tier, toEntry } from './entry.ts'

/** Virtual model of OpenRouter, which chooses a model for each request. */
export const AUTO_MODEL = 'openrouter/auto'

const CODE = ['codegen', 'debugging', 'review', 'logic', 'planning']
const ALL = [...CODE, 'research', 'parsing', 'inter_agent']
const LIGHT = ['parsing', 'inter_agent', 'logic']

type Row = readonly [
  providerType: EntryFields['providerType'],
  id: string,
  tier: Tier,
  /** US dollars for a million tokens of input and of output. */
  price: readonly [input: number, output: number],
  /** Thousands of tokens. */
  context: number,
  maxTokens: number,
  strengths: readonly string[],
  capabilities?: EntryFields['capabilities']
]

const SEES = { supportsVision: true } as const
const REASONS = { reasoning: true } as const

/** Published list prices, as of 2025. models.toml and the live list replace them. */
const ROWS: readonly Row[] = [
  ['google_direct', 'gemini-2.5-pro', 'elite', [1.25, 10], 1_048, 65_536, [...ALL, 'visus'], { ...SEES, ...REASONS }],
  ['google_direct', 'gemini-2.5-flash', 'pro', [0.3, 2.5], 1_048, 65_536, [...ALL, 'visus'], { ...SEES, ...REASONS }],
  ['google_direct', 'gemini-2.5-flash-lite', 'light', [0.1, 0.4], 1_048, 65_536, [...LIGHT, 'visus'], SEES],
  ['anthropic', 'claude-opus-4-5', 'elite', [5, 25], 200, 64_000, [...ALL, 'visus'], { ...SEES, ...REASONS }],
  ['anthropic', 'claude-sonnet-4-5', 'elite', [3, 15], 200, 64_000, [...ALL, 'visus'], { ...SEES, ...REASONS }],
  ['anthropic', 'claude-haiku-4-5', 'pro', [1, 5], 200, 64_000, [...CODE, ...LIGHT, 'visus'], SEES],
  ['open_router', 'google/gemini-2.5-flash', 'pro', [0.3, 2.5], 1_048, 65_536, [...ALL, 'visus'], SEES],
  ['open_router', 'anthropic/claude-sonnet-4.5', 'elite', [3, 15], 200, 64_000, [...ALL, 'visus'], SEES],
  ['open_router', 'meta-llama/llama-3.3-70b-instruct:free', 'pro', [0, 0], 131, 8_192, LIGHT, { rateLimitRpm: 20 }],
  ['groq', 'llama-3.3-70b-versatile', 'pro', [0.59, 0.79], 131, 32_768, ['logic', 'review', ...LIGHT]],
  ['groq', 'llama-3.1-8b-instant', 'light', [0.05, 0.08], 131, 131_072, LIGHT],
  ['groq', 'openai/gpt-oss-120b', 'pro', [0.15, 0.75], 131, 65_536, CODE, REASONS],
  ['cerebras', 'llama-3.3-70b', 'pro', [0.85, 1.2], 128, 65_536, ['logic', 'review', ...LIGHT]],
  ['cerebras', 'gpt-oss-120b', 'pro', [0.35, 0.75], 131, 40_000, CODE, REASONS],
  ['mistral', 'mistral-large-latest', 'elite', [2, 6], 128, 8_192, ALL],
  ['mistral', 'mistral-small-latest', 'light', [0.1, 0.3], 128, 8_192, LIGHT],
  ['mistral', 'codestral-latest', 'pro', [0.3, 0.9], 256, 8_192, CODE],
  ['deep_seek', 'deepseek-chat', 'pro', [0.28, 0.42], 128, 8_192, ALL],
  [
    'deep_seek',
    'deepseek-reasoner',
    'elite',
    [0.28, 0.42],
    128,
    65_536,
    ALL,
    { ...REASONS, supportsNativeTools: false }
  ],
  ['samba_nova', 'Meta-Llama-3.3-70B-Instruct', 'pro', [0.6, 1.2], 128, 8_192, ['logic', 'review', ...LIGHT]],
  ['openai', 'gpt-4.1', 'elite', [2, 8], 1_047, 32_768, [...ALL, 'visus'], SEES],
  ['openai', 'gpt-4.1-mini', 'pro', [0.4, 1.6], 1_047, 32_768, [...CODE, ...LIGHT, 'visus'], SEES],
  ['hugging_face_router', 'openai/gpt-oss-120b', 'pro', [0.15, 0.75], 131, 32_768, CODE, REASONS]
]

/** Converts a price of a million tokens, without the rounding error of the division. */
function perThousand(price: number): number {
  return Number((price / 1_000).toFixed(9))
}

/** Models that are known without a file and without a network. `localModel`: the local server's model. */
export function bootstrapModels(localModel: string): readonly ModelEntry[] {
  const rows = ROWS.map(([providerType, id, tier, [input, output], context, maxTokens, strengths, capabilities]) =>
    toEntry({
      providerType,
      id,
      maxTokens,
      strengths: [...new Set(strengths)],
      costPer1kInput: perThousand(input),
      costPer1kOutput: perThousand(output),
      pricingSource: 'bootstrap',
      supportsPromptCaching: providerType === 'anthropic' || providerType === 'deep_seek',
      capabilities: { maxContext: context * 1_000, tier, ...capabilities }
    })
  )
  const auto = toEntry({
    providerType: 'open_router',
    id: AUTO_MODEL,
    // Its price depends on the model that OpenRouter chooses, and is reported with each answer.
    pricingSource: 'unknown',
    strengths: [...ALL, 'visus'],
    capabilities: { maxContext: 128_000, tier: 'pro', supportsVision: true }
  })
  const local = toEntry({ providerType: 'ollama', id: localModel, pricingSource: 'bootstrap', strengths: ALL })
  return [local, auto, ...rows]
}
