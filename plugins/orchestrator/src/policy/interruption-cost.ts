import type { Priority } from '@svc/contracts'
import type { Settings } from '../settings.ts'
import { clamp } from './numbers.ts'

/** Weights of the load on the user, after the scales of NASA-TLX. */
export type BurdenSettings = Pick<Settings, 'tlx_mental' | 'tlx_temporal' | 'tlx_frustration' | 'tlx_trust_discount'>

export interface InterruptionLoad {
  /** 1 to 10. */
  readonly complexity: number
  /** Expected tokens of the task, see `workTokens`. */
  readonly tokens: number
  readonly priority: Priority
  readonly recentRejections: number
  /** [0, 1]. */
  readonly trust: number
  /** Number of tasks that need the user now, including this one. */
  readonly concurrent: number
}

const TEMPORAL: Readonly<Record<Priority, number>> = { Urgent: 1, Normal: 0.5, Background: 0.2 }

/**
 * Returns the factor of the base cost for an interruption by a task, from the load on the user; at least 0:
 * (w_m mental + w_t temporal + w_f frustration + w_d (1 - trust)) csm, with
 *
 * - mental = clamp((0.4 complexity + 0.6 min(tokens / 1000, 10)) / 10, 0, 1);
 * - frustration = r / (r + 5) for r recent rejections;
 * - csm = clamp(1 + 0.3 (concurrent - 1), 1, 3).
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
