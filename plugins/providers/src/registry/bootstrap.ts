import { type EntryFields, type ModelEntry, type Tier, toEntry } from './entry.ts'

/** Virtual model of OpenRouter, which chooses a model for each request. */
export const AUTO_MODEL = 'openrouter/auto'

const CODE = ['codegen', 'debugging', 'review', 'logic', 'planning']
const ALL = [...CODE, 'research', 'parsing', 'inter_agent']
const LIGHT = ['parsing', 'inter_agent', 'logic']

type Row = readonly [
  providerType: keyof typeof PRICE_PAGES,
  id: string,
  tier: Tier,
  price: ListPrice | null,
  /** Thousands of tokens. */
  context: number,
  maxTokens: number,
  strengths: readonly string[],
  capabilities?: EntryFields['capabilities']
]

/** US dollars for a million tokens, and the day on which the provider's page is known to have shown them. Null: no price could be confirmed. */
type ListPrice = readonly [input: number, output: number, asOf: string]

const SEES = { supportsVision: true } as const
const REASONS = { reasoning: true } as const

/** Pages on which the providers publish their prices. */
export const PRICE_PAGES = {
  google_direct: 'https://ai.google.dev/gemini-api/docs/pricing',
  anthropic: 'https://platform.claude.com/docs/en/about-claude/pricing',
  open_router: 'https://openrouter.ai/models',
  groq: 'https://groq.com/pricing',
  cerebras: 'https://www.cerebras.ai/pricing',
  mistral: 'https://mistral.ai/pricing',
  deep_seek: 'https://api-docs.deepseek.com/quick_start/pricing',
  samba_nova: 'https://cloud.sambanova.ai/plans/pricing',
  openai: 'https://developers.openai.com/api/docs/pricing',
  hugging_face_router: 'https://huggingface.co/docs/inference-providers/pricing'
} as const satisfies Partial<Record<EntryFields['providerType'], string>>

/**
 * Built-in models. models.toml replaces them, and so does the live list of OpenRouter. A name such as
 * `mistral-large-latest` changes its model and its price, and Hugging Face's price depends on the server that it
 * chooses: these have no built-in price.
 */
const ROWS: readonly Row[] = [
  [
    'google_direct',
    'gemini-2.5-pro',
    'elite',
    [1.25, 10, '2026-03-01'],
    1_048,
    65_536,
    [...ALL, 'visus'],
    { ...SEES, ...REASONS }
  ],
  [
    'google_direct',
    'gemini-2.5-flash',
    'pro',
    [0.3, 2.5, '2026-03-01'],
    1_048,
    65_536,
    [...ALL, 'visus'],
    { ...SEES, ...REASONS }
  ],
  [
    'google_direct',
    'gemini-2.5-flash-lite',
    'light',
    [0.1, 0.4, '2026-01-01'],
    1_048,
    65_536,
    [...LIGHT, 'visus'],
    SEES
  ],
  [
    'anthropic',
    'claude-opus-4-5',
    'elite',
    [5, 25, '2026-03-21'],
    200,
    64_000,
    [...ALL, 'visus'],
    { ...SEES, ...REASONS }
  ],
  [
    'anthropic',
    'claude-sonnet-4-5',
    'elite',
    [3, 15, '2026-03-21'],
    200,
    64_000,
    [...ALL, 'visus'],
    { ...SEES, ...REASONS }
  ],
  ['anthropic', 'claude-haiku-4-5', 'pro', [1, 5, '2026-03-21'], 200, 64_000, [...CODE, ...LIGHT, 'visus'], SEES],
  ['open_router', 'google/gemini-2.5-flash', 'pro', null, 1_048, 65_536, [...ALL, 'visus'], SEES],
  ['open_router', 'anthropic/claude-sonnet-4.5', 'elite', null, 200, 64_000, [...ALL, 'visus'], SEES],
  [
    'groq',
    'openai/gpt-oss-120b',
    'pro',
    [0.15, 0.6, '2026-07-04'],
    131,
    65_536,
    ['logic', 'review', ...LIGHT, ...CODE],
    REASONS
  ],
  ['groq', 'openai/gpt-oss-20b', 'light', [0.075, 0.3, '2026-07-04'], 131, 65_536, LIGHT, REASONS],
  [
    'cerebras',
    'gpt-oss-120b',
    'pro',
    [0.35, 0.75, '2026-06-12'],
    131,
    40_000,
    ['logic', 'review', ...LIGHT, ...CODE],
    REASONS
  ],
  ['mistral', 'mistral-large-latest', 'elite', null, 128, 8_192, ALL],
  ['mistral', 'mistral-small-latest', 'light', null, 128, 8_192, LIGHT],
  ['mistral', 'codestral-latest', 'pro', [0.3, 0.9, '2026-01-27'], 256, 8_192, CODE],
  ['deep_seek', 'deepseek-flash', 'pro', [0.3, 1.2, '2026-10-23'], 1_000, 8_192, ALL],
  [
    'samba_nova',
    'Meta-Llama-3.3-70B-Instruct',
    'pro',
    [0.6, 1.2, '2026-10-07'],
    128,
    8_192,
    ['logic', 'review', ...LIGHT]
  ],
  ['openai', 'gpt-4.1', 'elite', [2, 8, '2026-05-07'], 1_047, 32_768, [...ALL, 'visus'], SEES],
  ['openai', 'gpt-4.1-mini', 'pro', [0.4, 1.6, '2026-05-07'], 1_047, 32_768, [...CODE, ...LIGHT, 'visus'], SEES],
  ['hugging_face_router', 'openai/gpt-oss-120b', 'pro', null, 131, 32_768, CODE, REASONS]
]

/** Converts a price of a million tokens, without the rounding error of the division. */
function perThousand(price: number): number {
  return Number((price / 1_000).toFixed(9))
}

function listPrice([input, output, asOf]: ListPrice, page: string) {
  return {
    costPer1kInput: perThousand(input),
    costPer1kOutput: perThousand(output),
    pricingSource: 'bootstrap' as const,
    priceAsOf: asOf,
    priceSource: page
  }
}

/** Models that are known without a file and without a network. `localModel`: the local server's model. */
export function bootstrapModels(localModel: string): readonly ModelEntry[] {
  const rows = ROWS.map(([providerType, id, tier, price, context, maxTokens, strengths, capabilities]) =>
    toEntry({
      providerType,
      id,
      maxTokens,
      strengths: [...new Set(strengths)],
      ...(price === null ? {} : listPrice(price, PRICE_PAGES[providerType])),
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
