import type { NewsPost } from '@svc/contracts'

type Adjust = NewsPost['adjust']

const SHORT: Adjust = { marginChars: -16, capFactor: 0.88 }
const LONG: Adjust = { marginChars: 24, capFactor: 1.14 }

const MIN_MARGIN_CHARS = 4
const MIN_CAP_CHARS = 120
const MAX_MORE_CHARS = 900

/** Names of template profiles, and how they change the lengths of derived texts. */
export const TEMPLATE_PROFILES = {
  brief: SHORT,
  tight: SHORT,
  compact: SHORT,
  roomy: LONG,
  spacious: LONG,
  narrative: LONG
} as const satisfies Readonly<Record<string, Adjust>>

export type TemplateProfile = keyof typeof TEMPLATE_PROFILES

export const NO_ADJUSTMENT: Adjust = { marginChars: 0, capFactor: 1 }

/** Returns the reserve in characters of a derived text: a shorter profile reserves at least 4. */
export function adjustedMargin(margin: number, { marginChars }: Adjust): number {
  return marginChars < 0 ? Math.min(margin, Math.max(MIN_MARGIN_CHARS, margin + marginChars)) : margin + marginChars
}

/**
 * Returns the maximum length of a derived text, never above `hardLimit` of the platform: a shorter profile leaves at least
 * 120 characters, a longer one adds at most 900.
 */
export function adjustedCap(cap: number, { capFactor }: Adjust, hardLimit: number): number {
  // 700 × 1.14 is 797.99… in binary.
  const scaled = Math.floor(cap * capFactor + 1e-6)
  const chosen = capFactor < 1 ? Math.min(cap, Math.max(MIN_CAP_CHARS, scaled)) : Math.min(cap + MAX_MORE_CHARS, scaled)
  return Math.min(chosen, hardLimit)
}
