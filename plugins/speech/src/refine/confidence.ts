import type { Tunables } from '../tunables.ts'
import type { Profile } from './refine.ts'

/** Returns the confidence of a text: the base of the profile minus a penalty for each correction, within bounds. */
export function confidenceOf(profile: Profile, corrections: number, tunables: Tunables): number {
  const base = tunables[`refine_${profile}_base`]
  const penalty = Math.min(corrections * tunables.refine_penalty_per_trace, tunables.refine_penalty_cap)
  const bounded = Math.min(tunables.refine_confidence_max, Math.max(tunables.refine_confidence_min, base - penalty))
  return Math.round(bounded * 10_000) / 10_000
}
