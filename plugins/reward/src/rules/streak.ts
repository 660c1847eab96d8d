const DAY_MS = 86_400_000
const BONUS_PER_DAY = 10
const MAX_BONUS = 100

export interface Streak {
  readonly days: number
  /** Last active day, UTC, YYYY-MM-DD; empty before the first. */
  readonly lastDay: string
  readonly shields: number
}

/** Returns the day of a time in UTC, YYYY-MM-DD. `at`: Unix milliseconds. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}

/** Returns the days without activity that a streak survives: 1, and 1 more for each 7 days. */
export function graceDays(days: number): number {
  return 1 + Math.floor(days / 7)
}

/** Returns the experience for the first event of a day. */
export function streakBonus(days: number): number {
  return Math.min(BONUS_PER_DAY * days, MAX_BONUS)
}

/**
 * Returns the streak after an event on a day. A gap within the grace days keeps it, and so does one shield, which is
 * then used up. An earlier day than the last one changes nothing.
 */
export function streakOn(streak: Streak, day: string): Streak {
  if (streak.lastDay === '') return { ...streak, days: 1, lastDay: day }
  const gap = Math.round((Date.parse(day) - Date.parse(streak.lastDay)) / DAY_MS)
  if (gap <= 0) return streak
  if (gap - 1 <= graceDays(streak.days)) return { ...streak, days: streak.days + 1, lastDay: day }
  if (streak.shields > 0) return { days: streak.days + 1, lastDay: day, shields: streak.shields - 1 }
  return { ...streak, days: 1, lastDay: day }
}
