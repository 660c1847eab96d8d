import { bucket } from './fnv1a.ts'

export const MODES = ['balanced', 'serious', 'learning'] as const
export type Mode = (typeof MODES)[number]

export interface ModeRule {
  readonly multiplier: number
  /** Share of mistakes after which a hint may be shown, before the scaling of an experiment. */
  readonly hintFrequency: number
  /** Whether hints, combos and quests are announced, next to levels and achievements. */
  readonly overlays: boolean
}

export const MODE_RULES: Readonly<Record<Mode, ModeRule>> = {
  balanced: { multiplier: 1, hintFrequency: 0.5, overlays: true },
  serious: { multiplier: 0.5, hintFrequency: 0, overlays: false },
  learning: { multiplier: 1.25, hintFrequency: 1, overlays: true }
}

export const CHANNELS = ['off', 'serious', 'balanced', 'digest-priority'] as const
export type Channel = (typeof CHANNELS)[number]

/** Returns the channel that follows from a mode if none is set. */
export function channelOfMode(mode: Mode): Channel {
  return mode === 'serious' ? 'serious' : 'balanced'
}

export const TRUST_TIERS = ['novice', 'linked', 'proven', 'master'] as const
export type TrustTier = (typeof TRUST_TIERS)[number]

export const TRUST_FACTORS: Readonly<Record<TrustTier, number>> = { novice: 0.5, linked: 1, proven: 1.2, master: 1.5 }

/** Returns the further crystals of the mode `learning` for an event: 0 to 3, the same all day. `day`: UTC, YYYY-MM-DD. */
export function learningCrystals(user: string, day: string, type: string): number {
  return bucket(4, user, day, type)
}

/** Returns the label of a policy snapshot: the mode, and the experiment if there is one. */
export function modeLabel(mode: Mode, experiment: string): string {
  return experiment === '' ? mode : `${mode}:${experiment}`
}

/**
 * Returns the factor of an experiment for the frequency of hints: 0.85 if the sum of the UTF-8 bytes of its name is
 * even, 1.15 if it is odd; 1 without an experiment.
 */
export function hintScale(experiment: string): number {
  if (experiment === '') return 1
  let odd = 0
  for (const byte of Buffer.from(experiment, 'utf8')) odd ^= byte & 1
  return odd === 0 ? 0.85 : 1.15
}

/** Returns the share of mistakes, 0 to 1, after which a hint may be shown. */
export function hintFrequency(mode: Mode, experiment: string): number {
  return Math.min(1, MODE_RULES[mode].hintFrequency * hintScale(experiment))
}
