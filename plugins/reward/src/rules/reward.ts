import { type BaseValues, NOISY_TYPES } from './base-values.ts'
import { prestigeFactor } from './levels.ts'
import { MODE_RULES, type Mode, TRUST_FACTORS, type TrustTier } from './modes.ts'

const NOVELTY = 1.5
const STREAK_STEP = 0.02
const MAX_STREAK_DAYS = 25
/** Occurrences from which an event earns nothing, until the process ends. */
const MAX_OCCURRENCES = 30

/** Every reward reaches {@link MAX_AWARD} below this factor, and products with it stay finite. */
const MAX_EXPERIMENT_FACTOR = 1e12

export interface RewardContext {
  readonly mode: Mode
  /** Factor of the experiment; 1 without one. */
  readonly experimentFactor: number
  readonly streakDays: number
  readonly tier: TrustTier
  readonly prestige: number
  /** Occurrences of the type in this process and of this user, with this one: 1 for the first. */
  readonly occurrence: number
  /** Further crystals of the mode `learning`; 0 in other modes. */
  readonly learningCrystals: number
}

export interface Reward {
  readonly xp: number
  readonly crystals: number
  readonly lumens: number
  readonly shield: boolean
  readonly multiplier: number
  readonly parts: MultiplierParts
  /** True if the reward fell because the type occurred often. */
  readonly grindCapped: boolean
}

/** Factors of a multiplier. */
export interface MultiplierParts {
  readonly mode: number
  readonly experiment: number
  readonly streak: number
  readonly novelty: number
  readonly grind: number
  readonly trust: number
  readonly prestige: number
}

/** Returns the factor for an event that occurred `occurrence` times in this process: 1, 0.5, 0.1 or 0. */
export function grindFactor(type: string, occurrence: number): number {
  const [full, half] = NOISY_TYPES.has(type) ? [8, 14] : [15, 25]
  if (occurrence <= full) return 1
  if (occurrence <= half) return 0.5
  return occurrence <= MAX_OCCURRENCES ? 0.1 : 0
}

/** Returns the factor of a streak: 2 % for each day, at most 25 days. */
export function streakFactor(days: number): number {
  return 1 + STREAK_STEP * Math.min(days, MAX_STREAK_DAYS)
}

/** Returns the reward of an event. Factors are multiplied in the order of {@link MultiplierParts}. */
export function rewardOf(type: string, base: BaseValues, context: RewardContext): Reward {
  const parts: MultiplierParts = {
    mode: MODE_RULES[context.mode].multiplier,
    experiment: Math.min(context.experimentFactor, MAX_EXPERIMENT_FACTOR),
    streak: streakFactor(context.streakDays),
    novelty: context.occurrence <= 1 ? NOVELTY : 1,
    grind: grindFactor(type, context.occurrence),
    trust: TRUST_FACTORS[context.tier],
    prestige: prestigeFactor(context.prestige)
  }
  const multiplier =
    parts.mode * parts.experiment * parts.streak * parts.novelty * parts.grind * parts.trust * parts.prestige
  const isWorthless = base.xp === 0 && base.crystals === 0 && base.lumens === 0
  const isNothing = parts.grind === 0
  return {
    xp: rounded(base.xp * multiplier),
    crystals: rounded(base.crystals * multiplier) + (isNothing || isWorthless ? 0 : context.learningCrystals),
    lumens: rounded(base.lumens * parts.grind),
    shield: base.shield && !isNothing,
    multiplier,
    parts,
    grindCapped: parts.grind < 1
  }
}

/** Rounds a number of 0 or more, half up, to an integer that all sums can hold exactly. */
function rounded(value: number): number {
  return Math.min(Math.floor(value + 0.5), MAX_AWARD)
}

/** Maximum of one award, so that a large factor of an experiment or an override cannot overflow the totals. */
export const MAX_AWARD = 1_000_000_000
