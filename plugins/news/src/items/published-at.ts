const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
const INSTANT = /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?\s*([Zz]|[+-]\d{2}:\d{2})$/

/**
 * Converts a date, or a time with its zone, to ISO 8601 in UTC. A date is its midnight in UTC. Returns null for other
 * texts, and for days that do not exist.
 */
export function instantOf(text: string): string | null {
  const parts = DATE.exec(text) ?? INSTANT.exec(text)
  if (parts === null) return null
  const [year, month, day, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(each => Number(each ?? 0))
  const at = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day))
  if ((year ?? 0) < 1970 || at.getUTCMonth() + 1 !== month || at.getUTCDate() !== day) return null
  if (hour > 23 || minute > 59 || second > 59) return null
  const offset = offsetMs(parts[7] ?? 'Z')
  if (offset === null) return null
  return new Date(at.getTime() + ((hour * 60 + minute) * 60 + second) * 1_000 - offset).toISOString()
}

function offsetMs(zone: string): number | null {
  if (zone === 'Z' || zone === 'z') return 0
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number)
  if (hours > 14 || minutes > 59) return null
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}
