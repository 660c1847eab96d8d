import { HOSTED, LOCAL_SPEED } from '../provider-list.ts'
import { type ModelEntry, meanPriceOf } from '../registry/entry.ts'
import { COMPONENTS, type Component, type Weights } from './weights.ts'

/** Facts about a model at the time of a request. */
export interface Standing {
  /** Calls that are left today; null if the model has no limit. */
  readonly remaining: number | null
  readonly isRateLimited: boolean
  /** Milliseconds until a rate limit ends; null without one. */
  readonly retryAfterMs: number | null
}

export interface ScoreContext {
  readonly weights: Weights
  /** Tokens of the prompt. */
  readonly promptTokens: number
  readonly isMobile: boolean
  /** Strength that the task needs. */
  readonly strength: string
  /** Whether the model fills a gap in code. */
  readonly fillsGap: boolean
}

const FAST_MS = 500
const SLOW_MS = 8_000
const DEFAULT_RPM = 20
const FULL_RPM = 200
const DEFAULT_UPTIME = 0.85
const DEFAULT_CONTEXT = 8_192
const RATE_LIMITED = -10_000
const GAP_BONUS = 0.08
const GAP_MALUS = -0.02

const clamp = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

/** Returns the components of the score, each in [0, 1]. */
export function componentsOf(entry: ModelEntry, standing: Standing, context: ScoreContext): Record<Component, number> {
  const { capabilities, isFree, provider, maxTokens } = entry
  const speed = provider === 'ollama' ? LOCAL_SPEED : HOSTED[provider].speed
  const { latencyP50Ms, rateLimitRpm, uptimeScore, maxContext } = capabilities
  const latency = latencyP50Ms === null ? speed : 1 - clamp((latencyP50Ms - FAST_MS) / (SLOW_MS - FAST_MS), 0, 1)
  return {
    efficiency: isFree ? 1 : 1 / (1 + 100 * meanPriceOf(entry)),
    precision: (0.6 * clamp(Math.log10(maxTokens), 1, 7)) / 7 + 0.4 * (isFree ? 0.35 : 0.95),
    latency:
      0.6 * latency +
      0.25 * Math.min(1, (rateLimitRpm ?? DEFAULT_RPM) / FULL_RPM) +
      0.15 * (uptimeScore ?? DEFAULT_UPTIME),
    availability: standing.remaining === null ? 0.35 : clamp(Math.log10(Math.max(1, standing.remaining)) / 3, 0.4, 1),
    balance: 1 - clamp(context.promptTokens / (maxContext || DEFAULT_CONTEXT), 0, 1),
    mobile: context.isMobile ? (provider === 'ollama' ? 0 : 1) : 0.7
  }
}

/** Returns the weighted mean of the components plus bonuses; models with a rate limit in force are far below others. */
export function scoreOf(entry: ModelEntry, standing: Standing, context: ScoreContext): number {
  const components = componentsOf(entry, standing, context)
  const total = COMPONENTS.reduce((sum, name) => sum + context.weights[name], 0)
  const weighted = COMPONENTS.reduce((sum, name) => sum + context.weights[name] * components[name], 0)
  const isForCode = entry.strengths.includes('codegen')
  const gap = context.fillsGap ? (isForCode ? GAP_BONUS : GAP_MALUS) : 0
  return (total === 0 ? 0 : weighted / total) + gap + (standing.isRateLimited ? RATE_LIMITED : 0)
}
