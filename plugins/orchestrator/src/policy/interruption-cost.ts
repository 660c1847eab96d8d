import type { Priority } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import { clamp } from './numbers.ts'

/** Weights of the load on a person, after the scales of NASA-TLX. */
export type BurdenSettings = Pick<Settings, 'tlx_mental' | 'tlx_temporal' | 'tlx_frustration' | 'tlx_trust_discount'>

export interface InterruptionLoad {
  /** 1 to 10. */
  readonly complexity: number
  /** Expected to be worked through, see `workTokens`. */
  readonly tokens: number
  readonly priority: Priority
  readonly recentRejections: number
  /** [0, 1]. */
  readonly trust: number
  /** Tasks that ask for the same person, with this one. */
  readonly concurrent: number
}

const TEMPORAL: Readonly<Record<Priority, number>> = { Urgent: 1, Normal: 0.5, Background: 0.2 }

/**
 * Share of the base cost that an interruption by a task takes, from the load it puts on a person:
 * (w_m mental + w_t temporal + w_f frustration + w_d (1 - trust)) csm, where
 * mental = clamp((0.4 complexity + 0.6 min(tokens / 1000, 10)) / 10, 0, 1), frustration = r / (r + 5) of r recent rejections and
 * csm = clamp(1 + 0.3 (concurrent - 1), 1, 3). At least 0.
 */
export function attentionWeight(settings: BurdenSettings, load: InterruptionLoad): number {
  const mental = clamp((0.4 * load.complexity + 0.6 * Math.min(load.tokens / 1000, 10)) / 10, 0, 1)
  const frustration = load.recentRejections / (load.recentRejections + 5)
  const sum =
    settings.tlx_mental * mental +
    settings.tlx_temporal * TEMPORAL[load.priority] +
    settings.tlx_frustration * frustration +
    settings.tlx_trust_discount * (1 - load.trust)
  return Math.max(0, sum * clamp(1 + 0.3 * (load.concurrent - 1), 1, 3))
}
