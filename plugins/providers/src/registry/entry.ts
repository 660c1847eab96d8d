import { PROVIDER_TYPES, type ProviderName, type ProviderType } from '../provider-list.ts'

/** Where a price comes from, from least to most reliable. */
export const PRICING_SOURCES = [
  'bootstrap',
  'unknown',
  'user_config',
  'open_router',
  'anthropic_direct',
  'litellm',
  'telemetry'
] as const
export type PricingSource = (typeof PRICING_SOURCES)[number]

export const TIERS = ['light', 'pro', 'elite', 'local'] as const
export type Tier = (typeof TIERS)[number]

export interface ModelCapabilities {
  readonly supportsJson: boolean
  readonly supportsVision: boolean
  /** Tool calls in the format of the provider. */
  readonly supportsNativeTools: boolean
  readonly supportsToolUse: boolean
  readonly reasoning: boolean
  readonly webSearch: boolean
  readonly imageGeneration: boolean
  readonly audioInput: boolean
  readonly audioOutput: boolean
  /** Tokens of prompt and answer together; 0 if unknown. */
  readonly maxContext: number
  readonly tier: Tier
  /** Requests per minute and per day; null if unknown. */
  readonly rateLimitRpm: number | null
  readonly rateLimitRpd: number | null
  readonly latencyP50Ms: number | null
  readonly isModerated: boolean
  /** [0, 1]; null if unknown. */
  readonly uptimeScore: number | null
}

export interface ModelEntry {
  /** Name of the model at its provider. */
  readonly id: string
  readonly canonicalSlug: string
  readonly provider: ProviderName
  readonly providerType: ProviderType
  /** URL of a custom provider; null: that of the settings. */
  readonly url: string | null
  /** Maximum tokens of an answer. */
  readonly maxTokens: number
  /** US dollars for 1,000 tokens: input and output in equal parts, input, output. */
  readonly costPer1k: number
  readonly costPer1kInput: number
  readonly costPer1kOutput: number
  /** Mean of the reported costs of answers; null if none was reported. */
  readonly observedCostPer1k: number | null
  readonly costPer1kCacheCreation: number | null
  readonly costPer1kCacheRead: number | null
  readonly supportsPromptCaching: boolean
  readonly pricingSource: PricingSource
  /** ISO date on which the price is known to have been valid; null if it is unknown. */
  readonly priceAsOf: string | null
  /** Page with the price; null if no source names it. */
  readonly priceSource: string | null
  readonly isFree: boolean
  /** Subset of codegen, debugging, logic, research, parsing, review, planning, inter_agent, visus. */
  readonly strengths: readonly string[]
  readonly capabilities: ModelCapabilities
  readonly supportedParameters: readonly string[]
}

/** Fields of an entry that a source may give; the others have defaults. */
export type EntryFields = Partial<Omit<ModelEntry, 'id' | 'provider' | 'providerType' | 'capabilities'>> & {
  readonly id: string
  readonly providerType: ProviderType
  readonly capabilities?: Partial<ModelCapabilities>
}

const DEFAULT_MAX_TOKENS = 8_192

const DEFAULT_CAPABILITIES: ModelCapabilities = {
  supportsJson: true,
  supportsVision: false,
  supportsNativeTools: true,
  supportsToolUse: true,
  reasoning: false,
  webSearch: false,
  imageGeneration: false,
  audioInput: false,
  audioOutput: false,
  maxContext: 0,
  tier: 'pro',
  rateLimitRpm: null,
  rateLimitRpd: null,
  latencyP50Ms: null,
  isModerated: false,
  uptimeScore: null
}

/** Returns a complete entry. A model with input and output prices of 0 is free, unless its price is unknown. */
export function toEntry(fields: EntryFields): ModelEntry {
  const provider = PROVIDER_TYPES[fields.providerType]
  const input = fields.costPer1kInput ?? fields.costPer1k ?? 0
  const output = fields.costPer1kOutput ?? fields.costPer1k ?? 0
  const pricingSource = fields.pricingSource ?? 'unknown'
  return {
    canonicalSlug: fields.id,
    url: null,
    maxTokens: DEFAULT_MAX_TOKENS,
    observedCostPer1k: null,
    priceAsOf: null,
    priceSource: null,
    costPer1kCacheCreation: null,
    costPer1kCacheRead: null,
    supportsPromptCaching: false,
    isFree: provider === 'ollama' || (input === 0 && output === 0 && pricingSource !== 'unknown'),
    strengths: [],
    supportedParameters: [],
    ...fields,
    provider,
    pricingSource,
    costPer1k: fields.costPer1k ?? (input + output) / 2,
    costPer1kInput: input,
    costPer1kOutput: output,
    capabilities: {
      ...DEFAULT_CAPABILITIES,
      ...(provider === 'ollama' ? { tier: 'local' as const } : {}),
      ...fields.capabilities
    }
  }
}

/** Returns the name of a model in lists and selections: `provider/id`, without repeating the provider. */
export function nameOf({ provider, id }: Pick<ModelEntry, 'provider' | 'id'>): string {
  return provider === 'ollama' ? id : id.startsWith(`${provider}/`) ? id : `${provider}/${id}`
}

/** True if no source names the price of a model that is not free. */
export function hasUnknownPrice({ isFree, pricingSource, observedCostPer1k }: ModelEntry): boolean {
  return !isFree && pricingSource === 'unknown' && observedCostPer1k === null
}

/** US dollars for 1,000 tokens that are assumed for a model of unknown price. */
const ASSUMED_COST = 0.01

/** Returns the price of 1,000 tokens for comparisons: reported, listed or assumed. */
export function meanPriceOf(entry: ModelEntry): number {
  if (entry.isFree) return 0
  return entry.observedCostPer1k ?? (hasUnknownPrice(entry) ? ASSUMED_COST : entry.costPer1k)
}

/** Returns the price of an answer in US dollars; 0 if it is unknown. */
export function priceOf(entry: ModelEntry, inputTokens: number, outputTokens: number): number {
  return entry.isFree ? 0 : (inputTokens * entry.costPer1kInput + outputTokens * entry.costPer1kOutput) / 1_000
}
