import { cutText, reserve } from './cut.ts'
import { fits, lengthOf, type Meter } from './meters.ts'

export interface ThreadOptions {
  /** Limits of each part. */
  readonly meters: readonly Meter[]
  /** Parts at most; the last one is shortened. */
  readonly maxParts: number
  /** Marks the end of a shortened text. Default `...`. */
  readonly suffix?: string
}

/** Code units that are read for one part. */
const WINDOW = 65_536

/**
 * Divides a text into the parts of a thread, between words where possible. With more than one part, each ends with its
 * number, such as `2/5`. A single unit that exceeds the limits is left out.
 */
export function splitThread(text: string, { meters, maxParts, suffix = '...' }: ThreadOptions): string[] {
  const whole = text.trim()
  if (maxParts <= 1 || fits(whole, meters)) return whole === '' ? [] : [cutText(whole, { meters, suffix })]
  const inner = reserve(meters, meter => lengthOf(` ${maxParts}/${maxParts}`, meter))
  const parts: string[] = []
  for (let rest = whole; rest !== ''; ) {
    const part = cutText(rest.slice(0, WINDOW), { meters: inner, suffix: parts.length === maxParts - 1 ? suffix : '' })
    if (part === '') break
    parts.push(part)
    if (parts.length === maxParts) break
    rest = rest.slice(part.length).trimStart()
  }
  return parts.length > 1 ? parts.map((part, n) => `${part} ${n + 1}/${parts.length}`) : parts
}
