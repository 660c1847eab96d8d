import type { DashboardAction } from '@svc/contracts'

/** Width of a letter of a button, of its padding, and of the gap to the next one, in pixels. */
const LETTER = 7.4
const PADDING = 22
const GAP = 8
const MAX_WIDTH = 420

/** Returns the width in pixels of the buttons that a row can have at once: those of one state, not those of all. */
export function actionsWidth(actions: readonly Pick<DashboardAction, 'label' | 'when'>[]): number {
  const widthOf = (shown: typeof actions) =>
    shown.reduce((sum, { label }) => sum + label.length * LETTER + PADDING + GAP, -GAP)
  const conditions = actions.flatMap(({ when }) => when?.in.map(value => ({ field: when.field, value })) ?? [])
  const always = actions.filter(({ when }) => when === undefined)
  const widths = conditions.map(({ field, value }) =>
    // A condition on another field may hold at the same time.
    widthOf(actions.filter(({ when }) => when === undefined || when.field !== field || when.in.includes(value)))
  )
  return Math.min(Math.ceil(Math.max(0, widthOf(always), ...widths)), MAX_WIDTH)
}
