const DAY_MS = 86_400_000

/** ISO 8601 week in UTC. */
export interface Week {
  /** Such as `2026-W48`. */
  readonly name: string
  /** Monday, YYYY-MM-DD. */
  readonly from: string
  readonly days: readonly string[]
  /** Unix milliseconds; the end is not part of the week. */
  readonly start: number
  readonly end: number
}

/** Returns the week of a time. */
export function isoWeekOf(at: number): Week {
  const monday = mondayOf(at)
  // The Thursday of a week decides about its year.
  const year = new Date(monday + 3 * DAY_MS).getUTCFullYear()
  const number = Math.round((monday - mondayOf(Date.UTC(year, 0, 4))) / (7 * DAY_MS)) + 1
  return {
    name: `${year}-W${String(number).padStart(2, '0')}`,
    from: dayAt(monday),
    days: Array.from({ length: 7 }, (_, day) => dayAt(monday + day * DAY_MS)),
    start: monday,
    end: monday + 7 * DAY_MS
  }
}

/** Returns the week with a name such as `2026-W48`; null if there is none. */
export function weekOf(name: string): Week | null {
  const found = /^(\d{4})-?W(\d{2})$/i.exec(name.trim())
  if (found === null) return null
  const [, year, number] = found
  const first = new Date(0)
  first.setUTCFullYear(Number(year), 0, 4)
  const week = isoWeekOf(mondayOf(first.getTime()) + (Number(number) - 1) * 7 * DAY_MS)
  return week.name === `${year}-W${number}` ? week : null
}

function mondayOf(at: number): number {
  const midnight = Math.floor(at / DAY_MS) * DAY_MS
  return midnight - ((new Date(midnight).getUTCDay() + 6) % 7) * DAY_MS
}

function dayAt(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
