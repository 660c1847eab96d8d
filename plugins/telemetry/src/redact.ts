/** Replacement of a secret. */
const MASK = '***'

/** Names of fields whose value is a secret, in snake_case. */
const SECRET_NAME =
  /(?:^|_)(?:token|password|passwd|passphrase|secret|api_key|apikey|access_key|private_key|authorization|cookie|credentials?|bearer)$/

/** Secrets that are recognised in texts by their form. */
const SECRET_FORMS: readonly RegExp[] = [
  /\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi,
  /\bsk-[A-Za-z0-9_-]{16,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bglpat-[A-Za-z0-9_-]{16,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bxox[abpr]-[A-Za-z0-9-]{10,}/g,
  /\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g
]
/** User and password of a URL. */
const URL_CREDENTIALS = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]+@/gi

/**
 * Returns a copy of JSON data without secrets: values of fields with the name of a secret, secrets of a known form, and
 * what `mask` replaces. Numbers, such as `max_tokens`, stay.
 */
export function redact(value: unknown, mask: (text: string) => string): unknown {
  if (typeof value === 'string') return redactText(value, mask)
  if (Array.isArray(value)) return value.map(each => redact(each, mask))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const hidden = isSecretName(name) && each !== null && (typeof each === 'string' || typeof each === 'object')
      return [redactText(name, mask), hidden ? MASK : redact(each, mask)]
    })
  )
}

export function redactText(text: string, mask: (text: string) => string): string {
  let result = mask(text)
  for (const form of SECRET_FORMS) result = result.replace(form, MASK)
  return result.replace(URL_CREDENTIALS, `$1${MASK}@`)
}

function isSecretName(name: string): boolean {
  const snake = name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase()
  return SECRET_NAME.test(snake)
}
