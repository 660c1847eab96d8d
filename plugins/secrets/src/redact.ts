const MIN_SHOWN_LENGTH = 7
/** Minimum length of values that {@link scrub} replaces. Shorter ones occur inside too many other words. */
const MIN_SCRUBBED_LENGTH = 8

/** Returns a form of a secret for reports: the first four and the last two characters of a long one. */
export function redact(value: string | undefined): string {
  if (value === undefined) return '(missing)'
  if (value.length < MIN_SHOWN_LENGTH) return '***'
  return `${value.slice(0, 4)}…${value.slice(-2)} (redacted)`
}

/** Returns a copy of a JSON value in which each known secret of at least 8 characters is `[REDACTED]`, also in keys. */
export function scrub<A>(json: A, secrets: Iterable<string>): A {
  const known = [...new Set(secrets)].filter(secret => secret.length >= MIN_SCRUBBED_LENGTH)
  // Longer ones first, since one secret may contain another.
  known.sort((a, b) => b.length - a.length)
  const clean = (text: string): string => known.reduce((left, secret) => left.replaceAll(secret, '[REDACTED]'), text)
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return clean(value)
    if (Array.isArray(value)) return value.map(walk)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [clean(key), walk(each)]))
  }
  return (known.length === 0 ? json : walk(json)) as A
}
