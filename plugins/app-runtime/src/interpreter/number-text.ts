/** Returns the whole number that a text is, of any size, without white space at its ends; undefined for another text. */
export function wholeNumber(text: string): bigint | undefined {
  const trimmed = text.trim()
  return /^[+-]?\d+$/.test(trimmed) ? BigInt(trimmed.replace(/^\+/, '')) : undefined
}

/** Returns the number that a text is, without white space at its ends; undefined for another text. */
export function floatNumber(text: string): number | undefined {
  const trimmed = text.trim()
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed) ? Number(trimmed) : undefined
}
