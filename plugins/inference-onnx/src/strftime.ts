const months = 'January February March April May June July August September October November December'.split(' ')
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

const padded = (value: number, width = 2) => `${value}`.padStart(width, '0')
const hour12 = (date: Date) => date.getHours() % 12 || 12

const directives: Readonly<Record<string, (date: Date) => string>> = {
  a: date => (days[date.getDay()] as string).slice(0, 3),
  A: date => days[date.getDay()] as string,
  b: date => (months[date.getMonth()] as string).slice(0, 3),
  B: date => months[date.getMonth()] as string,
  d: date => padded(date.getDate()),
  H: date => padded(date.getHours()),
  I: date => padded(hour12(date)),
  j: date => padded(dayOfYear(date), 3),
  m: date => padded(date.getMonth() + 1),
  M: date => padded(date.getMinutes()),
  p: date => (date.getHours() < 12 ? 'AM' : 'PM'),
  S: date => padded(date.getSeconds()),
  y: date => padded(date.getFullYear() % 100),
  Y: date => `${date.getFullYear()}`,
  '%': () => '%'
}

/**
 * Formats a date in local time like C's `strftime`, with English names, as Python does without a locale. `%-d` and
 * similar directives omit leading zeros; unknown directives stay unchanged.
 */
export function strftime(format: string, date: Date): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (whole, bare, directive) => {
    const text = directives[directive]?.(date)
    if (text === undefined) return whole
    return bare === '-' ? text.replace(/^0+(?=.)/, '') : text
  })
}

function dayOfYear(date: Date): number {
  const [start, day] = [new Date(date.getFullYear(), 0, 1), new Date(date)]
  day.setHours(0, 0, 0, 0)
  return Math.round((day.getTime() - start.getTime()) / 86_400_000) + 1
}
