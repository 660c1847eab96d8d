/** A language that a caller names, in lower case; null for what cannot be one, which is as good as none. */
export function languageHint(text: unknown): string | null {
  if (typeof text !== 'string') return null
  const hint = text.trim().toLowerCase()
  return /^[a-z0-9-]{2,16}$/.test(hint) ? hint : null
}
