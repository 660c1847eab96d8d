import type { BaseValues } from './base-values.ts'

export interface Combo {
  readonly name: string
  /** Number of events by type that must be in the window. */
  readonly needs: Readonly<Record<string, number>>
  /** Type of the last event; null: any of `needs`. */
  readonly endsWith: string | null
  readonly windowMs: number
  readonly base: BaseValues
}

function combo(
  name: string,
  needs: Readonly<Record<string, number>>,
  seconds: number,
  [xp, crystals, lumens = 0]: readonly [number, number, number?],
  endsWith: string | null = null
): Combo {
  return { name, needs, endsWith, windowMs: seconds * 1_000, base: { xp, crystals, lumens, shield: false } }
}

export const COMBOS: readonly Combo[] = [
  combo('virtus_trifecta', { lint_clean: 1, test_pass: 1, snapshot_captured: 1 }, 300, [500, 100, 20]),
  combo('exterminatus', { bug_fix: 3 }, 3_600, [200, 200]),
  combo('iron_will_recovery', { test_fail: 2, test_pass: 1 }, 1_800, [300, 60, 10], 'test_pass'),
  combo('scribes_fury', { doc_added: 5 }, 3_600, [400, 80, 15]),
  combo('review_fix_ship_bonus', { snapshot_captured: 1, test_pass: 1, build_clean: 1 }, 7_200, [320, 50, 12])
]

/** Types of events that are part of a combo. */
export const COMBO_TYPES: ReadonlySet<string> = new Set(COMBOS.flatMap(({ needs }) => Object.keys(needs)))

export const MAX_WINDOW_MS = Math.max(...COMBOS.map(({ windowMs }) => windowMs))

/** Number of the newest events of each type that decide about a combo. */
export const KEPT_PER_TYPE = Math.max(...COMBOS.flatMap(({ needs }) => Object.values(needs)))

/** An earlier event: its sequence number of the user, and Unix milliseconds. */
export interface PastEvent {
  readonly sequence: number
  readonly at: number
}

/**
 * Returns the combos that an event completes. `recent`: events of {@link COMBO_TYPES} by type, oldest first, with this
 * one; `usedUntil`: sequence number of the event that completed a combo last. An event counts once for each combo.
 */
export function completedCombos(
  type: string,
  at: number,
  recent: ReadonlyMap<string, readonly PastEvent[]>,
  usedUntil: ReadonlyMap<string, number>
): readonly Combo[] {
  if (!COMBO_TYPES.has(type)) return []
  return COMBOS.filter(({ name, needs, endsWith, windowMs }) => {
    if (endsWith === null ? needs[type] === undefined : endsWith !== type) return false
    const after = usedUntil.get(name) ?? 0
    return Object.entries(needs).every(([needed, count]) => {
      const found = (recent.get(needed) ?? []).filter(
        each => each.sequence > after && each.at <= at && at - each.at <= windowMs
      )
      return found.length >= count
    })
  })
}
