/** The caller's language in lower case; null for an invalid one, which counts as missing. */
export function languageHint(text: unknown): string | null {
  if (typeof text !== 'string') return null
  const hint = text.trim().toLowerCase()
  return /^[a-z0-9-]{2,16}$/.test(hint) ? hint : null
}
