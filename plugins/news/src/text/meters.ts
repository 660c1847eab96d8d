import { clusterCount } from './clusters.ts'
import { type TextToken, tokensOf } from './tokens.ts'

/** How a platform counts text, and how much it accepts. Lengths are sums over tokens. */
export interface Meter {
  /** Unit in the plural, such as `graphemes`. */
  readonly unit: string
  readonly limit: number
  weigh(token: TextToken): number
}

/** Characters that a URL counts as, on X and on Mastodon. */
const URL_LENGTH = 23
/** Code points that count as one on X (configuration 3 of twitter-text); all others count as two. */
const LIGHT: readonly (readonly [number, number])[] = [
  [0, 4_351],
  [8_192, 8_205],
  [8_208, 8_223],
  [8_242, 8_247]
]
/** Emoji that are shown as emoji anyway, but may be followed by the variation selector that requests it. */
const VARIABLE =
  '[\\u231a\\u231b\\u25fd\\u25fe\\u2614\\u2615\\u2648-\\u2653\\u267f\\u2693\\u26a1\\u26aa\\u26ab\\u26bd\\u26be\\u26c4\\u26c5\\u26d4' +
  '\\u26ea\\u26f2\\u26f3\\u26f5\\u26fa\\u26fd\\u2757\\u2b1b\\u2b1c\\u2b50\\u2b55\\u{1f004}\\u{1f21a}\\u{1f22f}]\\ufe0f'
const EMOJI = new RegExp(`${VARIABLE}|\\p{RGI_Emoji}`, 'gv')

/** Weighted characters of X: configuration 3 of twitter-text, over the text in NFC. */
export function weightedCharacters(limit: number): Meter {
  return {
    unit: 'weighted characters',
    limit,
    weigh: ({ kind, text, spanLength }) =>
      kind === 'url' ? URL_LENGTH + weightOf(text.slice(spanLength)) : weightOf(text)
  }
}

function weightOf(text: string): number {
  let weight = 0
  const rest = text.normalize('NFC').replace(EMOJI, () => {
    weight += 2
    return ''
  })
  for (const character of rest) weight += isLight(character.codePointAt(0) ?? 0) ? 1 : 2
  return weight
}

function isLight(codePoint: number): boolean {
  return LIGHT.some(([first, last]) => codePoint >= first && codePoint <= last)
}

/** Grapheme clusters, as Bluesky counts them. */
export function graphemes(limit: number): Meter {
  return { unit: 'graphemes', limit, weigh: ({ kind, text }) => (kind === 'grapheme' ? 1 : clusterCount(text)) }
}

/** Grapheme clusters, where a URL with a scheme counts as 23 and a mention without its server, as Mastodon counts. */
export function mastodonCharacters(limit: number): Meter {
  return {
    unit: 'characters',
    limit,
    weigh: ({ kind, text, spanLength, hasScheme }) => {
      if (kind === 'grapheme') return 1
      if (kind === 'url' && hasScheme) return URL_LENGTH + clusterCount(text.slice(spanLength))
      const server = kind === 'mention' ? text.slice(0, spanLength).lastIndexOf('@') : 0
      return server > 0 ? clusterCount(text.slice(0, server) + text.slice(spanLength)) : clusterCount(text)
    }
  }
}

/** Bytes of UTF-8. */
export function utf8Bytes(limit: number): Meter {
  return { unit: 'bytes', limit, weigh: ({ text }) => Buffer.byteLength(text, 'utf8') }
}

/** Unicode code points. */
export function codePoints(limit: number): Meter {
  return { unit: 'characters', limit, weigh: ({ text }) => [...text].length }
}

/** UTF-16 code units, for platforms whose documentation does not say what a character is: no other unit is larger. */
export function codeUnits(limit: number): Meter {
  return { unit: 'UTF-16 code units', limit, weigh: ({ text }) => text.length }
}

/** Returns the length of a text in the unit of a meter. */
export function lengthOf(text: string, meter: Meter): number {
  let length = 0
  for (const token of tokensOf(text)) length += meter.weigh(token)
  return length
}

/** Returns whether a text is within the limits of all meters. Reads no more of the text than is needed. */
export function fits(text: string, meters: readonly Meter[]): boolean {
  const lengths = meters.map(() => 0)
  for (const token of tokensOf(text)) if (exceeds(add(lengths, meters, token), meters)) return false
  return true
}

/** Adds the weights of a token to `lengths`, one for each meter, and returns `lengths`. */
export function add(lengths: number[], meters: readonly Meter[], token: TextToken): number[] {
  meters.forEach((meter, n) => {
    lengths[n] = (lengths[n] ?? 0) + meter.weigh(token)
  })
  return lengths
}

export function exceeds(lengths: readonly number[], meters: readonly Meter[]): boolean {
  return meters.some(({ limit }, n) => (lengths[n] ?? 0) > limit)
}
