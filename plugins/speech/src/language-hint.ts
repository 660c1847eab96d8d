/** Returns the caller's language in lower case; null if it is missing or invalid. */
export function languageHint(text: unknown): string | null {
  if (typeof text !== 'string') return null
  const hint = text.trim().toLowerCase()
  return /^[a-z0-9-]{2,16}$/.test(hint) ? hint : null
}
