import { cutText, reserve } from './cut.ts'
import { fits, lengthOf, type Meter } from './meters.ts'

export interface ThreadOptions {
  /** Limits of each part. */
  readonly meters: readonly Meter[]
  /** Parts at most; the last one is shortened. */
  readonly maxParts: number
  /** Marks the end of a shortened text. Default `...`. */
  readonly suffix?: string
  /** Last paragraph, such as a link. It is kept when the text is shortened. */
  readonly ending?: string
}

/** Code units that are read for one part. */
const WINDOW = 65_536

/**
 * Divides a text into the parts of a thread, between words where possible. With more than one part, each ends with its
 * number, such as `2/5`. Returns no parts if a single unit, such as a hashtag, is longer than a part: nothing is left out.
 */
export function splitThread(text: string, { meters, maxParts, suffix = '...', ending = '' }: ThreadOptions): string[] {
  const end = ending === '' ? '' : `\n\n${ending}`
  const whole = `${text.trim()}${end}`.trim()
  if (whole === '') return []
  if (fits(whole, meters)) return [whole]
  const numbered = maxParts <= 1 ? meters : reserve(meters, meter => lengthOf(` ${maxParts}/${maxParts}`, meter))
  const parts: string[] = []
  for (let rest = whole; rest !== ''; ) {
    const isLast = parts.length === maxParts - 1
    const window = rest.slice(0, WINDOW)
    const part =
      isLast && !fits(window, numbered) ? shortened(window) : cutText(window, { meters: numbered, suffix: '' })
    if (part === '') return []
    parts.push(part)
    if (isLast) break
    rest = rest.slice(part.length).trimStart()
  }
  return parts.length > 1 ? parts.map((part, n) => `${part} ${n + 1}/${parts.length}`) : parts

  function shortened(rest: string): string {
    const room = reserve(numbered, meter => lengthOf(end, meter))
    const words = rest.endsWith(end) ? rest.slice(0, rest.length - end.length) : rest
    return `${cutText(words, { meters: room, suffix })}${end}`
  }
}
