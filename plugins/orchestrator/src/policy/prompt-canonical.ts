const CONTROLS = /(?![\t\n])\p{Cc}/gu
/** Invisible characters: soft hyphens, zero-width and direction marks, tags. */
const INVISIBLE = /[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/gu
/** Zero-width joiners next to ASCII, where they only hide text; emoji and some scripts need them. */
const STRAY_JOINERS = /(?<=[ -~])[\u200c\u200d]+|[\u200c\u200d]+(?=[ -~])/g
const LONE_SURROGATES = /\p{Surrogate}/gu

const PLAIN = /^[\t\n -~]*$/

/**
 * Returns the canonical form of text: NFC, lines ended by a line feed, no control or invisible characters.
 */
export function canonicalText(text: string): string {
  if (PLAIN.test(text)) return text
  return text
    .replace(/\r\n?/g, '\n')
    .replace(LONE_SURROGATES, '\ufffd')
    .replace(CONTROLS, '')
    .replace(INVISIBLE, '')
    .replace(STRAY_JOINERS, '')
    .normalize('NFC')
}
