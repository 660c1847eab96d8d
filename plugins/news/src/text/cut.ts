import { add, exceeds, fits, type Meter } from './meters.ts'
import { type TextToken, tokensOf } from './tokens.ts'

export interface CutOptions {
  /** Limits that the result keeps, all of them. */
  readonly meters: readonly Meter[]
  /** Appended to a shortened text; part of its length. Default `...`. */
  readonly suffix?: string
  /** Reserve that stays free, in the unit of each meter. Default 0. */
  readonly marginChars?: number
}

/** Positions in the text before which a cut tries to find one that the suffix does not change. */
const MAX_TRIES = 32

/**
 * Shortens a text to its limits: returns it unchanged if it fits, else a prefix without trailing white space, and the
 * suffix. Never divides a grapheme cluster, URL, mention or hashtag, and cuts between words where at least half of the
 * room is then used. The suffix is left out if it does not fit.
 */
export function cutText(text: string, options: CutOptions): string {
  const { suffix = '...', marginChars = 0 } = options
  const meters = reserve(options.meters, () => marginChars)
  if (fits(text, meters)) return text
  const ends = endsWithin(text, meters, suffix)
  if (ends === null) return cutText(text, { ...options, suffix: '' })
  for (const end of ends.slice(0, MAX_TRIES)) {
    const prefix = text.slice(0, end).trimEnd()
    if (isIntact(prefix, suffix) && fits(prefix + suffix, meters)) return prefix + suffix
  }
  return suffix
}

/** Returns meters with smaller limits, at least 1. */
export function reserve(meters: readonly Meter[], amount: (meter: Meter) => number): Meter[] {
  return meters.map(meter => ({ ...meter, limit: Math.max(1, meter.limit - amount(meter)) }))
}

/** Returns where a prefix may end, the best first, or null if the suffix exceeds a limit. */
function endsWithin(text: string, meters: readonly Meter[], suffix: string): number[] | null {
  const lengths = meters.map(() => 0)
  for (const token of tokensOf(suffix)) add(lengths, meters, token)
  if (exceeds(lengths, meters)) return null
  const hard: number[] = []
  const words: number[] = []
  let at = 0
  for (const token of tokensOf(text)) {
    if (isWordEnd(text, at, token)) words.push(at)
    if (exceeds(add(lengths, meters, token), meters)) break
    at += token.text.length
    hard.push(at)
  }
  const enough = (hard.at(-1) ?? 0) / 2
  return [...words.filter(end => end >= enough).reverse(), ...hard.reverse()]
}

function isWordEnd(text: string, at: number, token: TextToken): boolean {
  return token.isSpace && at > 0 && text.charAt(at - 1).trim() !== ''
}

/** Returns whether a suffix leaves the tokens of a prefix as they are: it could continue a cluster, URL or hashtag. */
function isIntact(prefix: string, suffix: string): boolean {
  const word = prefix.slice(-MAX_WORD).split(/\s/u).at(-1) ?? ''
  const before = [...tokensOf(word)]
  const after = tokensOf(word + suffix)
  return before.every(({ kind, text }) => {
    const next = after.next().value
    return next?.kind === kind && next.text === text
  })
}

const MAX_WORD = 4_096
